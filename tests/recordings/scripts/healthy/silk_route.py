"""Races several route searches and takes the first good one; the others are cancelled."""

import time

from dask.distributed import Client, LocalCluster, as_completed
from distributed.client import FutureCancelledError


def search(seed, patience):
    time.sleep(patience)
    return {"seed": seed, "km": 6400 + (seed * 37) % 90}


def main():
    with LocalCluster(
        n_workers=2, threads_per_worker=2, memory_limit="400MiB", dashboard_address=":0"
    ) as cluster:
        with Client(cluster) as client:
            futures = [client.submit(search, s, 0.4 + 0.5 * s) for s in range(10)]
            for future in as_completed(futures):
                best = future.result()
                if best["km"] < 6480:
                    break
            rest = [f for f in futures if not f.done()]
            client.cancel(rest, force=True)
            given_up = 0
            for f in rest:
                try:
                    f.result(timeout=3)
                except FutureCancelledError:
                    given_up += 1
            print("best", best, "given up", given_up)


if __name__ == "__main__":
    main()
