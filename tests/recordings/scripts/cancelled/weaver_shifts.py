"""Shift simulation with a guard thread that restarts the workers when they hold too much."""

import threading
import time

import numpy as np
from dask.distributed import Client, LocalCluster


def shift(n):
    time.sleep(0.5)
    return np.random.default_rng(n).normal(size=(256, 2048))  # 4 MiB


def guard(client, limit, stop):
    while not stop.wait(0.5):
        info = client.scheduler_info(n_workers=-1)["workers"]
        held = sum(
            w["metrics"]["managed_bytes"] for w in info.values() if "metrics" in w
        )
        if held > limit:
            print(f"guard: {held >> 20} MiB held, restarting the workers", flush=True)
            client.restart(wait_for_workers=False)
            return


def main():
    with LocalCluster(
        n_workers=2, threads_per_worker=1, memory_limit="500MiB", dashboard_address=":0"
    ) as cluster:
        with Client(cluster) as client:
            stop = threading.Event()
            thread = threading.Thread(
                target=guard, args=(client, 40 << 20, stop), daemon=True
            )
            thread.start()
            try:
                shifts = client.map(shift, range(40))
                total = client.submit(
                    lambda parts: float(np.mean([p.mean() for p in parts])), shifts
                )
                print("mean load", total.result())
            finally:
                stop.set()
                thread.join(10)


if __name__ == "__main__":
    main()
