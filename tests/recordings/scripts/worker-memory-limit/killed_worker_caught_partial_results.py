"""Explode nested baskets; keep what works."""

import sys

import pandas as pd
from dask.distributed import Client, KilledWorker


def explode(store):
    width = 16_000_000 if store == "mall" else 2_000
    frame = pd.DataFrame(
        {"basket": range(200), "items": [list(range(width // 200))] * 200}
    )
    return len(frame.explode("items").astype("float64").merge(frame[["basket"]]))


def main():
    stores = ["corner", "station", "mall", "airport"]
    client = Client(
        n_workers=2, threads_per_worker=1, memory_limit="400MiB", dashboard_address=None
    )
    futures = dict(zip(stores, client.map(explode, stores)))
    results = {}
    for store, future in futures.items():
        try:
            results[store] = future.result()
        except KilledWorker as error:
            print(f"skipping {store}: {error}", file=sys.stderr)
    print(results)
    if len(results) < len(stores):
        raise SystemExit("partial results only")


if __name__ == "__main__":
    main()
