"""Counts orchids per plot and writes a table of densities; plots that fail are only counted."""

import sys
import time

from dask.distributed import Client, LocalCluster, as_completed

PLOTS = [
    ("dune-1", 120, 40.0),
    ("dune-2", 64, 32.0),
    ("fen-1", 15, 0.0),
    ("fen-2", 22, 11.0),
    ("heath-1", 9, 0.0),
    ("heath-2", 14, 7.0),
    ("ridge-1", 3, 0.0),
    ("ridge-2", 5, 2.5),
]


def load_plot(name, count, area):
    time.sleep(0.5)
    return {"plot": name, "count": count, "area": area}


def density(plot):
    return plot["plot"], plot["count"] / plot["area"]


def main():
    cluster = LocalCluster(
        n_workers=2, threads_per_worker=1, memory_limit="400MiB", dashboard_address=":0"
    )
    client = Client(cluster)
    table, bad = {}, 0
    try:
        plots = [client.submit(load_plot, *p) for p in PLOTS]
        futures = client.map(density, plots)
        for future in as_completed(futures):
            try:
                name, value = future.result()
                table[name] = value
            except Exception:
                bad += 1
    finally:
        client.close()
        cluster.close()
    print(f"{len(table)} densities written")
    if bad:
        sys.exit(f"{bad} of {len(futures)} futures failed")


if __name__ == "__main__":
    main()
