import os
import time

import dask
from dask.distributed import Client, LocalCluster


def soil(cell):
    if cell == 37:
        os.abort()
    time.sleep(0.02)
    return cell * 0.3


def yield_map(cells):
    return sum(cells)


def main():
    dask.config.set({"distributed.scheduler.allowed-failures": 1})
    cluster = LocalCluster(n_workers=2, threads_per_worker=2, dashboard_address=None)
    client = Client(cluster)
    try:
        for season in (2024, 2025):
            cells = client.map(soil, range(60 if season == 2025 else 30), pure=False)
            print(season, client.submit(yield_map, cells, pure=False).result())
    finally:
        client.close()
        cluster.close()


if __name__ == "__main__":
    main()
