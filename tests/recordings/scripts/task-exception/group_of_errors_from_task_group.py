"""Ask several mirrors at once, inside tasks, with an asyncio.TaskGroup."""

import asyncio

from dask import bag
from dask.distributed import Client


async def ask(mirror, n):
    await asyncio.sleep(0.01)
    if n == 17 and mirror == "north":
        raise ConnectionRefusedError(111, "mirror north refuses")
    if n == 17 and mirror == "south":
        raise ValueError("mirror south sent 'n/a' as a length")
    return n


async def ask_all(n):
    async with asyncio.TaskGroup() as group:
        for mirror in ("north", "south", "west"):
            group.create_task(ask(mirror, n))
    return n


def fetch_page(n):
    return asyncio.run(ask_all(n))


if __name__ == "__main__":
    client = Client(n_workers=2, threads_per_worker=1, dashboard_address=":0")
    try:
        print(
            bag.from_sequence(range(40), npartitions=8).map(fetch_page).sum().compute()
        )
    finally:
        client.close()
