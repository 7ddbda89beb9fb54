"""Jazz sessions: an asynchronous job with a soft time limit and a second chance."""

import asyncio
import time

from dask.distributed import Client, LocalCluster


def transcribe(session):
    time.sleep(2.5 if session == 5 else 0.1)
    return session, 60 + session % 12


async def one(client, session):
    future = client.submit(transcribe, session)
    try:
        return await asyncio.wait_for(asyncio.shield(future.result()), 0.8)
    except asyncio.TimeoutError:
        print("session", session, "is slow, waiting on", flush=True)
        return await future


async def main():
    async with LocalCluster(
        n_workers=2, threads_per_worker=1, asynchronous=True, dashboard_address=":0"
    ) as cluster:
        async with Client(cluster, asynchronous=True) as client:
            rows = await asyncio.gather(*(one(client, s) for s in range(10)))
            extra = client.submit(time.sleep, 30)
            await asyncio.sleep(0.2)
            await client.cancel([extra])
            print("keys:", sorted({key for _, key in rows}))


if __name__ == "__main__":
    asyncio.run(main())
