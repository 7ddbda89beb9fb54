"""Computes orbits on a scheduler and a worker in this process, and exits."""

import sys

from dask.distributed import Client, Scheduler, Worker
from distributed.utils import LoopRunner, sync


def orbit(probe):
    return probe**2 % 13


async def main():
    async with (
        Scheduler(host="127.0.0.1", port=0, dashboard_address=":0") as scheduler,
        Worker(scheduler.address, nthreads=1),
        Client(scheduler.address, asynchronous=True) as client,
    ):
        print(sum(await client.gather(client.map(orbit, range(20)))))
    sys.exit(0)


if __name__ == "__main__":
    runner = LoopRunner(loop=None, asynchronous=False)
    runner.start()
    sync(runner.loop, main)
