"""Collects summaries in a list until somebody kills it."""

import time

from dask.distributed import Client, as_completed


def summary(n):
    time.sleep(0.2)
    return {"n": n, "square": n * n}


if __name__ == "__main__":
    client = Client(n_workers=2, threads_per_worker=1, dashboard_address=":0")
    seen = []
    for future in as_completed(client.map(summary, range(400))):
        seen.append(future.result())
        if len(seen) == 10:
            print("ten summaries", flush=True)
