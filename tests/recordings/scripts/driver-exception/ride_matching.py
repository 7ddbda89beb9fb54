"""Match rides to drivers with an asynchronous client."""

import asyncio
import random

from dask.distributed import Client, LocalCluster


def candidates(zone):
    rnd = random.Random(zone)
    return [(rnd.random(), f"driver-{zone}-{i}") for i in range(50)]


def best(options):
    return min(options)


async def match_zone(client, zone):
    options = client.submit(candidates, zone)
    return client.submit(best, options).result()


async def night_run():
    async with LocalCluster(
        n_workers=2, threads_per_worker=1, asynchronous=True, dashboard_address=None
    ) as cluster:
        async with Client(cluster, asynchronous=True) as client:
            matches = await asyncio.gather(
                *(match_zone(client, zone) for zone in range(6))
            )
            ranking = []
            for zone, match in enumerate(matches):
                score, driver = match
                ranking.append((score, zone, driver))
            print(sorted(ranking)[:3])


if __name__ == "__main__":
    asyncio.run(night_run())
