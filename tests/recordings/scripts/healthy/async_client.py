"""An asyncio program."""

import asyncio

from dask.distributed import Client, as_completed


def length(text):
    return len(text)


async def main():
    async with Client(
        asynchronous=True, n_workers=2, threads_per_worker=1, dashboard_address=":0"
    ) as client:
        total = 0
        async for future in as_completed(
            client.map(length, ["a" * n for n in range(40)])
        ):
            total += await future
        print(total)


if __name__ == "__main__":
    asyncio.run(main())
