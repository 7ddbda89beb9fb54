"""Solve the unit-commitment problems of the day with a licensed solver."""

import os
import random
import sys

from dask.distributed import Client, LocalCluster

LICENSE = {"valid_until": "2026-09-30", "seats": 4}
TODAY = "2026-11-24"


class SolverEnv:
    def __init__(self, license_info, today):
        self.log = []
        if license_info["valid_until"] < today and self.needs_full():
            sys.stderr.write("solver: license expired 2026-09-30, stopping\n")
            sys.stderr.flush()
            os._exit(3)

    size = 0

    def needs_full(self):
        return self.size > 500


def build(region):
    rnd = random.Random(region)
    size = 400 if region != "iberia" else 900
    return {
        "region": region,
        "size": size,
        "load": [rnd.uniform(10, 90) for _ in range(size)],
    }


def solve(model):
    env = type("Env", (SolverEnv,), {"size": model["size"]})(LICENSE, TODAY)
    cost = sum(x * 1.7 for x in model["load"])
    env.log.append("optimal")
    return model["region"], round(cost, 1)


def main():
    regions = ["nordic", "alpine", "iberia", "baltic", "benelux"]
    with (
        LocalCluster(
            n_workers=2, threads_per_worker=1, dashboard_address=None
        ) as cluster,
        Client(cluster) as client,
    ):
        models = client.map(build, regions)
        plans = client.map(solve, models)
        for region, cost in client.gather(plans):
            print(f"{region:8s} {cost}")


if __name__ == "__main__":
    main()
