"""Postal zones: wide first stage, then the cluster shrinks to one worker for the report."""

import time

import dask.bag as db
from dask.distributed import Client, LocalCluster


def zone(code):
    time.sleep(0.01)
    return int(code[0]), len(code)


def main():
    with LocalCluster(
        n_workers=3, threads_per_worker=1, dashboard_address=":0"
    ) as cluster:
        with Client(cluster) as client:
            zones = (
                db.from_sequence(
                    [f"{i:05d}" for i in range(0, 100000, 97)], npartitions=12
                )
                .map(zone)
                .persist()
            )
            print("zones", zones.count().compute())
            cluster.scale(1)
            while len(client.scheduler_info(n_workers=-1)["workers"]) > 1:
                time.sleep(0.2)
            cluster.adapt(minimum=1, maximum=2, interval="500ms", wait_count=2)
            print(sorted(zones.pluck(0).frequencies().compute()))
            time.sleep(2)


if __name__ == "__main__":
    main()
