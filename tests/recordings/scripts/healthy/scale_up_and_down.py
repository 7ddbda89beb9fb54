"""Use more workers for the middle stage."""

from dask.distributed import Client


def stage(n):
    return n + 1


if __name__ == "__main__":
    with Client(n_workers=2, threads_per_worker=1, dashboard_address=":0") as client:
        for workers in (1, 2, 1):
            client.cluster.scale(workers)
            client.wait_for_workers(workers)
            print(sum(client.gather(client.map(stage, range(50), pure=False))))
