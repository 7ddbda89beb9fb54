"""A coroutine as a task, which waits in a way that coroutines must not."""

import asyncio
import time

from dask.distributed import Client


async def poll_job(n):
    await asyncio.sleep(0.1)
    if n == 2:
        time.sleep(60)
    return n


if __name__ == "__main__":
    with Client(n_workers=2, threads_per_worker=1, dashboard_address=":0") as client:
        print(client.gather(client.map(poll_job, range(6))))
