"""Refit demand models while a housekeeping thread frees worker memory."""

import threading
import time

import numpy as np
from dask.distributed import Client, LocalCluster


def refit(store):
    rng = np.random.default_rng(store)
    time.sleep(0.6)
    x = rng.random((500, 8))
    y = x @ np.arange(8) + rng.normal(0, 0.1, 500)
    coef, *_ = np.linalg.lstsq(x, y, rcond=None)
    return store, coef.round(2).tolist()


def housekeeping(client, every, stop):
    while not stop.wait(every):
        print("housekeeping: freeing memory on all workers", flush=True)
        client.restart(timeout=20)


def main():
    stop = threading.Event()
    with (
        LocalCluster(
            n_workers=2, threads_per_worker=1, dashboard_address=None
        ) as cluster,
        Client(cluster) as client,
    ):
        keeper = threading.Thread(
            target=housekeeping, args=(client, 4, stop), daemon=True
        )
        keeper.start()
        try:
            models = dict(client.gather(client.map(refit, range(40))))
            print(len(models), "models refitted")
        finally:
            stop.set()
            keeper.join(20)


if __name__ == "__main__":
    main()
