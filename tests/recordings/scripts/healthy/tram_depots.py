"""Depot plans in two rounds; between the rounds the workers are restarted to get rid of the solver's leftovers."""

import time

from dask.distributed import Client, LocalCluster

CACHE = {}


def plan_depot(depot, round_):
    time.sleep(0.2)
    CACHE[depot, round_] = bytearray(1 << 20)
    return depot, round_ * 10 + depot


def main():
    with LocalCluster(
        n_workers=2, threads_per_worker=1, memory_limit="500MiB", dashboard_address=":0"
    ) as cluster:
        with Client(cluster) as client:
            plans = {}
            for round_ in (1, 2):
                plans.update(
                    {
                        (d, round_): v
                        for d, v in client.gather(
                            client.map(plan_depot, range(8), round_=round_)
                        )
                    }
                )
                if round_ == 1:
                    client.restart()
            print(len(plans), "plans", sum(plans.values()))


if __name__ == "__main__":
    main()
