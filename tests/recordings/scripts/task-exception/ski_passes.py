"""Ski pass validations per lift; the night's access ticket is minted by the job itself."""

import asyncio
import datetime
import os
import time

os.environ["TZ"] = "America/Denver"
time.tzset()

from dask.distributed import Client, LocalCluster


def mint(lift, minutes=30):
    now = datetime.datetime.utcnow()
    return {
        "lift": lift,
        "not_before": now.timestamp() - 60,
        "expires": now.timestamp() + minutes * 60,
    }


def validations(ticket):
    now = time.time()
    if now < ticket["not_before"]:
        raise PermissionError(
            f"ticket for {ticket['lift']} is valid in {(ticket['not_before'] - now) / 3600:.1f} h"
        )
    if now > ticket["expires"]:
        raise PermissionError(f"ticket for {ticket['lift']} expired")
    return ticket["lift"], 400


async def job():
    async with LocalCluster(
        n_workers=2, threads_per_worker=1, dashboard_address=":0", asynchronous=True
    ) as cluster:
        async with Client(cluster, asynchronous=True) as client:
            tickets = [mint(lift) for lift in ("gondola", "eagle", "ridge", "glade")]
            for lift, n in await client.gather(client.map(validations, tickets)):
                print(lift, n)


if __name__ == "__main__":
    asyncio.run(job())
