import asyncio
import random

from distributed import Client, LocalCluster


class Book:
    def __init__(self):
        self.bids = {}
        self.seen = 0

    def bid(self, lot, amount):
        self.seen += 1
        self.bids[lot] = max(amount, self.bids.get(lot, 0))
        return self.bids[lot]

    def close_lots(self):
        return self.seen, dict(self.bids)


async def bidding_round(book, lots, rng):
    for lot in lots:
        await book.bid(lot, rng.randint(10, 500))
    await asyncio.sleep(0.2)


async def rotate_certificates(client):
    for addr in sorted(await client.nthreads()):
        print("new certificate for", addr, flush=True)
        await client.restart_workers([addr], timeout=30)


async def main():
    rng = random.Random(5)
    async with LocalCluster(
        n_workers=2,
        threads_per_worker=1,
        memory_limit="300MB",
        asynchronous=True,
        dashboard_address=None,
    ) as cluster:
        async with Client(cluster, asynchronous=True) as client:
            book = await client.submit(Book, actor=True)
            for n in range(6):
                await bidding_round(book, range(20), rng)
                if n == 3:
                    await rotate_certificates(client)
            seen, lots = await book.close_lots()
            print(lots)
            if seen != 120:
                raise RuntimeError(f"book has {seen} bids, 120 were placed")


if __name__ == "__main__":
    asyncio.run(asyncio.wait_for(main(), 50))
