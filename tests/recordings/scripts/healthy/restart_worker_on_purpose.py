"""Restart workers to free memory of a native library."""

from dask.distributed import Client


def stage(n):
    return n * n


if __name__ == "__main__":
    with Client(n_workers=2, threads_per_worker=1, dashboard_address=":0") as client:
        print(sum(client.gather(client.map(stage, range(20)))))
        client.restart_workers(list(client.scheduler_info()["workers"]))
        client.wait_for_workers(2)
        print(sum(client.gather(client.map(stage, range(20), pure=False))))
