"""Adds the sales of kiosks in a service that has an event loop."""

import asyncio

from dask import delayed
from dask.distributed import Client, LocalCluster


@delayed
def sales(kiosk):
    return kiosk * 10


async def handle_request():
    async with (
        LocalCluster(
            n_workers=2, threads_per_worker=1, dashboard_address=":0", asynchronous=True
        ) as cluster,
        Client(cluster, asynchronous=True),
    ):
        total = delayed(sum)([sales(kiosk) for kiosk in range(5)])
        return total.compute()


if __name__ == "__main__":
    print(asyncio.run(handle_request()))
