"""Taxi zones: the live feed gets three seconds, else yesterday's file is used."""

import asyncio
import time

from dask.distributed import Client, LocalCluster


def live_feed(zone):
    time.sleep(6 if zone == 4 else 0.1)
    return zone, "live"


def yesterday(zone):
    return zone, "file"


async def job():
    async with LocalCluster(
        n_workers=2, threads_per_worker=1, dashboard_address=":0", asynchronous=True
    ) as cluster:
        async with Client(cluster, asynchronous=True) as client:
            out = []
            for zone in range(7):
                f = client.submit(live_feed, zone)
                try:
                    out.append(await asyncio.wait_for(f.result(), 3))
                except (asyncio.TimeoutError, TimeoutError) as exc:
                    print(
                        f"zone {zone}: live feed timed out ({type(exc).__name__}), using yesterday's"
                    )
                    out.append(await client.submit(yesterday, zone))
            print(out)


if __name__ == "__main__":
    asyncio.run(job())
