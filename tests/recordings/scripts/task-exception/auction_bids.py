"""Auction bids: a feeder fills a queue on the scheduler, an evaluator empties it."""

import asyncio

from dask.distributed import Client, LocalCluster, Queue, fire_and_forget

LOTS = [{"lot": n, "bids": [100 + n, 120 + n], "reserve": 90 + n} for n in range(12)]
LOTS[8]["bids"] = []


def feed(lots):
    queue = Queue("bids")
    for lot in lots:
        queue.put({"lot": lot["lot"], "top": max(lot["bids"])})
    return len(lots)


def evaluate(count):
    queue = Queue("bids")
    total = 0
    for _ in range(count):
        total += queue.get()["top"]
    return total


async def main():
    async with LocalCluster(
        n_workers=2, threads_per_worker=1, dashboard_address=":0", asynchronous=True
    ) as cluster:
        async with Client(cluster, asynchronous=True) as client:
            fire_and_forget(client.submit(feed, LOTS))
            result = client.submit(evaluate, len(LOTS))
            total = await asyncio.wait_for(result, 20)
            print("hammer total", total)


if __name__ == "__main__":
    asyncio.run(main())
