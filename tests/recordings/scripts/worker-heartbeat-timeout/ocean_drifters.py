"""Positions of the ocean drifters; the modem is asked from coroutines on the workers."""

import asyncio
import time

import dask
from dask.distributed import Client, LocalCluster


class Modem:
    def fix(self, drifter):
        # the modem firmware answers slowly while it has no satellite
        time.sleep(14 if drifter == 5 else 0.05)
        return drifter * 0.1, -drifter * 0.2


async def poll_drifter(drifter):
    await asyncio.sleep(0.01)
    return drifter, Modem().fix(drifter)


def main():
    with dask.config.set(
        {
            "distributed.scheduler.worker-ttl": "4s",
            "distributed.scheduler.allowed-failures": 0,
        }
    ):
        with LocalCluster(
            n_workers=2, threads_per_worker=1, dashboard_address=":0"
        ) as cluster:
            with Client(cluster) as client:
                for drifter, pos in client.gather(client.map(poll_drifter, range(8))):
                    print(drifter, pos)


if __name__ == "__main__":
    main()
