"""Meter a stream until the platform asks the process to stop; drain and leave cleanly."""

import asyncio
import os
import signal
import sys

from dask.distributed import Client, LocalCluster


async def measure(number):
    await asyncio.sleep(0.1)
    return number % 5


async def main():
    stop = asyncio.Event()
    loop = asyncio.get_running_loop()
    async with LocalCluster(
        n_workers=2, threads_per_worker=1, asynchronous=True, dashboard_address=None
    ) as cluster:
        async with Client(cluster, asynchronous=True) as client:
            loop.add_signal_handler(signal.SIGTERM, stop.set)
            loop.call_later(4, os.kill, os.getpid(), signal.SIGTERM)
            metered, number = 0, 0
            while not stop.is_set():
                batch = client.map(measure, range(number, number + 10))
                metered += sum(await client.gather(batch))
                number += 10
            print("stop requested, draining", flush=True)
            metered += sum(
                await client.gather(client.map(measure, range(number, number + 10)))
            )
            print("metered", metered)
    return 0


if __name__ == "__main__":
    sys.exit(asyncio.run(main()))
