"""Zinc quotas: the two workers are described one by one, as the smelter's big one and the office's small one."""

import asyncio
import sys

import numpy as np
from dask.distributed import Client, Nanny, Scheduler, SpecCluster

SITES = ["Nordenham", "Budel", "Kokkola", "Odda"]


def farm():
    scheduler = {"cls": Scheduler, "options": {"port": 0, "dashboard": False}}
    common = {"dashboard": False, "death_timeout": 15}
    workers = {
        "smelter": {
            "cls": Nanny,
            "options": {
                **common,
                "nthreads": 1,
                "memory_limit": "900MB",
                "resources": {"furnace": 1},
            },
        },
        "office": {
            "cls": Nanny,
            "options": {
                **common,
                "nthreads": 1,
                "memory_limit": "500MB",
                "resource": {"desk": 1},
            },
        },
    }
    return SpecCluster(workers=workers, scheduler=scheduler, name="zinc")


def melt_loss(site, month):
    rng = np.random.default_rng(hash((len(site), month)) % 2**32)
    return float(rng.beta(2, 60, 2000).mean())


def quota(losses, tonnes):
    return round(tonnes * (1 - float(np.mean(losses))), 1)


def plan(client):
    quotas = {}
    for site in SITES:
        losses = [
            client.submit(melt_loss, site, month, resources={"furnace": 1})
            for month in range(12)
        ]
        quotas[site] = client.submit(quota, losses, 14000, resources={"desk": 1})
    return client.gather(quotas)


def main():
    with farm() as cluster, Client(cluster) as client:
        for site, tonnes in plan(client).items():
            print(f"{site:12s} {tonnes:9.1f} t")


if __name__ == "__main__":
    if sys.platform == "win32":
        asyncio.set_event_loop_policy(asyncio.WindowsSelectorEventLoopPolicy())
    main()
