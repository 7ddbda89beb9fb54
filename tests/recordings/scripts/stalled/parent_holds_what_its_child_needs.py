"""A task that holds the only licence submits a task that needs it."""

from dask.distributed import Client, LocalCluster, worker_client


def solve_part(n):
    return n * 2


def solve(n):
    with worker_client() as client:
        part = client.submit(solve_part, n, resources={"LICENCE": 1})
        return part.result()


if __name__ == "__main__":
    with LocalCluster(
        n_workers=1,
        threads_per_worker=2,
        resources={"LICENCE": 1},
        dashboard_address=":0",
    ) as cluster:
        with Client(cluster) as client:
            future = client.submit(solve, 21, resources={"LICENCE": 1})
            print(future.result(timeout=20))
