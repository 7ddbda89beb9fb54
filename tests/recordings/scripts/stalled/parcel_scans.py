"""Scanner tasks feed a bounded queue that the sorter reads to the end marker."""

import time

from dask.distributed import Client, LocalCluster, Queue


def scan_belt(belt, parcels):
    queue = Queue("scans")
    for parcel in parcels:
        if parcel % 50 == 0:
            return belt, parcel
        queue.put((belt, parcel))
        time.sleep(0.01)
    queue.put((belt, None))
    return belt, parcels[-1]


def sort_parcels(belts):
    queue, open_belts, counts = Queue("scans"), set(belts), {}
    while open_belts:
        belt, parcel = queue.get()
        if parcel is None:
            open_belts.discard(belt)
        else:
            counts[parcel % 4] = counts.get(parcel % 4, 0) + 1
    return counts


def main():
    with (
        LocalCluster(
            n_workers=2, threads_per_worker=2, dashboard_address=None
        ) as cluster,
        Client(cluster) as client,
    ):
        ranges = {"A": range(1, 40), "B": range(101, 140), "C": range(180, 220)}
        sorter = client.submit(sort_parcels, list(ranges), key="sorter")
        belts = [
            client.submit(scan_belt, b, list(r), key=f"belt-{b}")
            for b, r in ranges.items()
        ]
        print("belts:", client.gather(belts))
        print("sorted:", sorter.result(timeout=9))


if __name__ == "__main__":
    main()
