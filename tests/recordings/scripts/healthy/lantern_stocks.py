"""Counts lanterns of the depots; the cluster grows with the work and shrinks again."""

import random
import time

from dask.distributed import Client, LocalCluster, as_completed


def count_shelf(depot, shelf):
    time.sleep(0.25)
    return depot, random.Random(depot * 100 + shelf).randint(0, 60)


def close_depot(counts):
    time.sleep(0.2)
    return sum(count for _, count in counts)


def main():
    with LocalCluster(
        n_workers=1, threads_per_worker=1, memory_limit="400MB", dashboard_address=":0"
    ) as cluster:
        cluster.adapt(
            minimum=0, maximum=3, interval="500ms", wait_count=2, target_duration="1s"
        )
        with Client(cluster) as client:
            totals = {}
            for wave in range(2):
                futures = {}
                for depot in range(wave * 4, wave * 4 + 4):
                    shelves = [
                        client.submit(
                            count_shelf,
                            depot,
                            shelf,
                            key=f"count_shelf-{depot}-{shelf}",
                        )
                        for shelf in range(12)
                    ]
                    futures[
                        client.submit(close_depot, shelves, key=f"close_depot-{depot}")
                    ] = depot
                for future in as_completed(futures):
                    totals[futures[future]] = future.result()
                workers = len(client.scheduler_info(n_workers=-1)["workers"])
                print("wave", wave, "workers", workers)
                del futures, future
                time.sleep(3)
            print("lanterns:", sum(totals.values()), "depots:", len(totals))
            assert len(totals) == 8


if __name__ == "__main__":
    main()
