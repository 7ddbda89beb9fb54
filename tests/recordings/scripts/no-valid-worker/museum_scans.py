import asyncio

from dask.distributed import Client, Nanny, Scheduler


def thumbnail(item):
    return item, (128, 128)


async def run():
    async with Scheduler(dashboard=False, port=0) as scheduler:
        async with (
            Nanny(scheduler.address, nthreads=1, name="scan-01"),
            Nanny(scheduler.address, nthreads=1, name="scan-02"),
        ):
            async with Client(scheduler.address, asynchronous=True) as client:
                small = client.map(thumbnail, range(10), workers=["scan-01"])
                print("thumbnails", len(await client.gather(small)))
                large = client.map(thumbnail, range(10, 20), workers=["scan-03"])
                done = await asyncio.wait_for(client.gather(large), timeout=8)
                print("posters", len(done))


def main():
    asyncio.run(run())


if __name__ == "__main__":
    main()
