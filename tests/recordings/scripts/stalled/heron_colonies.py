"""Counts at heron colonies: every colony waits until the season's thresholds have been announced."""

import time

from dask.distributed import Client, Event, LocalCluster, Variable, wait


def count_colony(colony):
    Event("thresholds-announced").wait()
    low = Variable("threshold").get(timeout=5)
    return colony, max(low, (colony * 31) % 60)


def announce_thresholds(values):
    time.sleep(0.5)
    Variable("threshold").set(min(values))
    Event("thresholds-announced").set()
    return True


def main():
    with LocalCluster(
        n_workers=2, threads_per_worker=1, memory_limit="400MiB", dashboard_address=":0"
    ) as cluster:
        with Client(cluster) as client:
            client.wait_for_workers(2)
            counts = client.map(count_colony, range(6))
            announced = client.submit(announce_thresholds, [12, 9, 15])
            wait([announced, *counts], timeout=14)
            print(client.gather(counts))


if __name__ == "__main__":
    main()
