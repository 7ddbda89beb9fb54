"""Take in the cedar logs: the driver queues them, a reader on the cluster measures them."""

import tempfile

from distributed import Client, LocalCluster, Queue


def measure_all(count):
    logs = Queue("cedar-logs")
    return [logs.get() * 0.3 for _ in range(count)]


def main():
    with (
        tempfile.TemporaryDirectory() as tmp,
        LocalCluster(
            n_workers=1,
            threads_per_worker=2,
            dashboard_address=None,
            local_directory=tmp,
        ) as cluster,
        Client(cluster) as client,
    ):
        logs = Queue("cedar-logs", maxsize=50)
        for length in range(200):
            logs.put(length)
        measured = client.submit(measure_all, 200)
        print("volume", sum(measured.result()))


if __name__ == "__main__":
    main()
