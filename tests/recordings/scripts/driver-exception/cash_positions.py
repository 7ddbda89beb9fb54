"""Sum the cash positions of all entities with the async client."""

import asyncio

import dask
from dask.distributed import Client, LocalCluster


def positions(entity):
    return {"entity": entity, "eur": 1000.0 * (entity % 5) - 800}


async def total(client):
    lazy = [dask.delayed(positions)(e) for e in range(10)]
    futures = client.compute(lazy)
    rows = client.gather(futures)
    return sum(r["eur"] for r in rows)


async def main():
    async with LocalCluster(
        n_workers=2, threads_per_worker=1, asynchronous=True, dashboard_address=None
    ) as cluster:
        async with Client(cluster, asynchronous=True) as client:
            first = await client.submit(positions, 99)
            print("probe", first)
            print("group position", await total(client))


if __name__ == "__main__":
    asyncio.run(main())
