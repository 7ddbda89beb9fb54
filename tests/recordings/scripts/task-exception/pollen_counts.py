"""Asynchronous client: one coroutine per trap, in a task group."""

import asyncio
import time

from dask.distributed import Client, LocalCluster

SLIDES = {
    "basel": [12, 40, 33],
    "bern": [8, 0, 19],
    "chur": [5, 17, None],
    "davos": [2, 1, 4],
}


def count_grains(slides):
    time.sleep(0.4)
    return [s * 4.3 for s in slides]


def weekly_index(counts):
    return round(sum(counts) ** 0.5, 2)


async def one_trap(client, name, slides, table):
    counts = client.submit(count_grains, slides, key=f"count_grains-{name}")
    index = client.submit(weekly_index, counts, key=f"weekly_index-{name}")
    table[name] = await index


async def main():
    table = {}
    async with LocalCluster(
        n_workers=2,
        threads_per_worker=1,
        memory_limit="400MiB",
        dashboard_address=":0",
        asynchronous=True,
    ) as cluster:
        async with Client(cluster, asynchronous=True) as client:
            try:
                async with asyncio.TaskGroup() as group:
                    for name, slides in SLIDES.items():
                        group.create_task(one_trap(client, name, slides, table))
            except* Exception as many:
                failed = len(many.exceptions)
    if len(table) < len(SLIDES):
        raise SystemExit(f"pollen index incomplete: {failed} trap(s) missing")
    print(table)


if __name__ == "__main__":
    asyncio.run(main())
