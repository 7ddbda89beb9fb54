"""Occupancy of nest boxes per wood; each wood splits itself into boxes."""

import time

from dask.distributed import Client, LocalCluster, get_client


def occupancy(wood, box):
    time.sleep(0.1)
    return (wood * 17 + box * 5) % 3 == 0


def survey_wood(wood):
    client = get_client()
    boxes = [client.submit(occupancy, wood, b) for b in range(8)]
    found = [b.result() for b in boxes]
    return wood, sum(found)


def main():
    with LocalCluster(
        n_workers=1, threads_per_worker=2, memory_limit="500MiB", dashboard_address=":0"
    ) as cluster:
        with Client(cluster) as client:
            woods = client.map(survey_wood, range(5))
            table = {}
            for w in woods:
                wood, n = w.result(timeout=14)
                table[wood] = n
            print(table)


if __name__ == "__main__":
    main()
