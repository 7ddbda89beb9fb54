"""Rebalance the vehicle fleet in two phases with fresh workers in between."""

import time

from dask.distributed import Client, LocalCluster


def demand(zone):
    time.sleep(0.1)
    return zone, zone * 13 % 37


def assign(zone, need):
    return zone, need // 3 + 1


def main():
    with (
        LocalCluster(
            n_workers=3, threads_per_worker=1, dashboard_address=None
        ) as cluster,
        Client(cluster) as client,
    ):
        needs = dict(client.gather(client.map(demand, range(30))))
        print("phase 1:", sum(needs.values()))
        client.restart(wait_for_workers=True)
        leaving = sorted(client.scheduler_info()["workers"])[0]
        client.retire_workers([leaving], close_workers=True)
        print("retired", leaving)
        plan = client.gather([client.submit(assign, z, n) for z, n in needs.items()])
        print(
            "phase 2:",
            len(plan),
            "zones on",
            len(client.scheduler_info()["workers"]),
            "workers",
        )


if __name__ == "__main__":
    main()
