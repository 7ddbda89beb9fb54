"""Stowage plan: the heavy solver may run only on workers with a licence."""

import dask
from dask.distributed import Client, LocalCluster

dask.config.set({"distributed.scheduler.no-workers-timeout": "8s"})


def weigh(hold):
    return {"hold": hold, "tonnes": 120 + hold * 7 % 31}


def solve(rows):
    return sorted(rows, key=lambda r: -r["tonnes"])


def main():
    cluster = LocalCluster(
        n_workers=2,
        threads_per_worker=1,
        resources={"licence": 1},
        dashboard_address=":0",
    )
    with cluster, Client(cluster) as client:
        holds = client.map(weigh, range(16))
        with dask.annotate(resources={"licence": 2}):
            plan = client.submit(solve, holds, resources={"licence": 2})
        for row in plan.result()[:3]:
            print(row)


if __name__ == "__main__":
    main()
