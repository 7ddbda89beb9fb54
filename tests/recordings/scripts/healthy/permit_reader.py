import os
import tempfile

from dask.distributed import Client, LocalCluster, Queue, Reschedule


def classify(folder, permit):
    marker = os.path.join(folder, f"{permit}.seen")
    if permit % 6 == 0 and not os.path.exists(marker):
        open(marker, "w").close()
        raise Reschedule()
    return permit, ("building", "event", "parking")[permit % 3]


def reader(queue_name):
    queue = Queue(queue_name)
    seen = []
    while True:
        item = queue.get(timeout=15)
        if item is None:
            return seen
        seen.append(item)


def main():
    with tempfile.TemporaryDirectory(prefix="permits-") as folder:
        with (
            LocalCluster(
                n_workers=2, threads_per_worker=2, dashboard_address=None
            ) as cluster,
            Client(cluster) as client,
        ):
            inbox = Queue("permits", client=client)
            reading = client.submit(reader, "permits")
            kinds = client.gather(
                [
                    client.submit(classify, folder, p, key=f"classify-{p}")
                    for p in range(24)
                ]
            )
            for permit, kind in kinds:
                inbox.put(f"{permit}:{kind}")
            inbox.put(None)
            print("read", len(reading.result(timeout=20)), "permits")


if __name__ == "__main__":
    main()
