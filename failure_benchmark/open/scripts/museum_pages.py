"""Fetches the pages of a museum's catalogue with an asynchronous library."""

import asyncio

from dask.distributed import Client, LocalCluster


async def fetch(page):
    await asyncio.sleep(0.01)
    return len(f"https://museum.example/{page}")


def page_length(page):
    loop = asyncio.get_event_loop()
    return loop.run_until_complete(fetch(page))


if __name__ == "__main__":
    with (
        LocalCluster(
            n_workers=2, threads_per_worker=2, dashboard_address=":0"
        ) as cluster,
        Client(cluster) as client,
    ):
        print(sum(client.gather(client.map(page_length, range(12)))))
