"""Growth of the oyster beds: one coroutine feeds the measurements of the tide to the cluster, another collects."""

import asyncio
import logging

from dask.distributed import Client

logging.basicConfig(level=logging.INFO, format="%(levelname)s %(message)s")
log = logging.getLogger("oysters")
PACE = {"flood": 0.1, "high": 0.2, "ebb": 0.1, "low": 0.3}
TIDE = ["flood", "high", "ebb", "low", "slack", "flood", "high", "ebb"]


def growth(bed, phase):
    return bed, len(phase) * 1.3 + bed


async def feed(client, results):
    for bed, phase in enumerate(TIDE):
        await asyncio.sleep(PACE[phase])
        await results.put(client.submit(growth, bed, phase))


async def collect(results, beds):
    total = 0.0
    for _ in range(beds):
        future = await asyncio.wait_for(results.get(), timeout=15)
        bed, value = await future
        log.info("bed %d: %.1f mm", bed, value)
        total += value
    return total


async def main():
    async with Client(
        asynchronous=True, n_workers=2, threads_per_worker=1, dashboard_address=None
    ) as client:
        results = asyncio.Queue()
        feeder = asyncio.create_task(feed(client, results), name="feed")
        log.info("growth %.1f mm", await collect(results, len(TIDE)))
        await feeder


if __name__ == "__main__":
    asyncio.run(main())
