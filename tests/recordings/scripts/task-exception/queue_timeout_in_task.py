"""Take work from a queue, for two seconds."""

from dask.distributed import Client, Queue


def take(name):
    return Queue(name).get(timeout=2)


if __name__ == "__main__":
    with Client(n_workers=2, threads_per_worker=1, dashboard_address=":0") as client:
        queue = Queue("jobs", client=client)
        print(client.submit(take, "jobs", pure=False).result())
