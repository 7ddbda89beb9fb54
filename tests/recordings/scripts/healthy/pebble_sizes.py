import asyncio
import random

from dask.distributed import Client


class Blurred(ValueError):
    pass


def measure(photo, attempt):
    if random.Random(photo * 10 + attempt).random() < 0.4:
        raise Blurred(f"photo {photo}, attempt {attempt}")
    return photo % 13


async def patient(client, photo, attempts=12):
    for attempt in range(attempts):
        try:
            return await client.submit(measure, photo, attempt)
        except Blurred as error:
            print("again:", error)
            await asyncio.sleep(0.02)
    return None


async def slow_extra(client):
    future = client.submit(asyncio.sleep, 600)
    try:
        await asyncio.wait_for(asyncio.shield(future.result()), 1.5)
    except asyncio.TimeoutError:
        print("the extra photos are not needed tonight")
        await future.cancel()


async def main():
    async with Client(
        asynchronous=True, n_workers=1, threads_per_worker=2, dashboard_address=None
    ) as client:
        sizes, _ = await asyncio.gather(
            asyncio.gather(*(patient(client, p) for p in range(15))), slow_extra(client)
        )
        print("measured", len([s for s in sizes if s is not None]))


if __name__ == "__main__":
    asyncio.run(main())
