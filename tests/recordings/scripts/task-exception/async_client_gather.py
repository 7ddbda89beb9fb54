"""The same cluster from asyncio."""

import asyncio

from dask.distributed import Client, LocalCluster


def score(text):
    words = text.split()
    return words.index("risk") / len(words)


async def main():
    async with LocalCluster(
        n_workers=2, threads_per_worker=1, asynchronous=True, dashboard_address=":0"
    ) as cluster:
        async with Client(cluster, asynchronous=True) as client:
            texts = ["low risk here", "no risk at all", "nothing to see", "risk " * 9]
            futures = client.map(score, texts * 5, pure=False)
            scores = await client.gather(futures)
            print(sum(scores))


if __name__ == "__main__":
    asyncio.run(main())
