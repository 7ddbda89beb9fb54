"""Loco movements over the depot's turntable.

An actor keeps the turntable's state (one truth, cheap to ask); movements are planned
by ordinary tasks.  After the morning peak the pool is made smaller.
"""

import asyncio
import itertools
import logging
import time

from distributed import Client, LocalCluster

logging.basicConfig(level=logging.INFO, format="%(levelname)s %(name)s %(message)s")
log = logging.getLogger("depot")


class Turntable:
    def __init__(self, tracks):
        self.tracks = tracks
        self.position = 0
        self.turned = 0

    def move(self, loco, track):
        way = min(
            (track - self.position) % self.tracks, (self.position - track) % self.tracks
        )
        self.position = track
        self.turned += way
        return self.turned

    def summary(self):
        return {"position": self.position, "turned": self.turned}


def plan_loco(loco, hour):
    time.sleep(0.1)
    return loco, (loco * 11 + hour * 5) % 18


async def peak(client, table, hour):
    planned = await client.gather(client.map(plan_loco, range(20), hour=hour))
    for loco, track in planned:
        await table.move(loco, track)
    log.info("hour %02d: %s", hour, await table.summary())


async def grow(cluster, n, client):
    cluster.scale(n)
    await client.wait_for_workers(n, timeout=25)
    log.info("pool has %d workers", n)


async def quiet_hours(cluster, client):
    """The machines of the morning go back to the passenger side; one fresh machine stays."""
    morning = {
        info["name"]: address
        for address, info in (await client.scheduler.identity())["workers"].items()
    }
    cluster.scale(len(morning) + 1)
    await client.wait_for_workers(len(morning) + 1, timeout=25)
    await cluster.scale_down(list(morning))
    for _ in range(50):
        left = (await client.scheduler.identity())["workers"]
        if not set(morning.values()) & set(left):
            break
        await asyncio.sleep(0.2)
    log.info("pool has %d workers", len(left))


async def day():
    async with LocalCluster(
        n_workers=1,
        threads_per_worker=1,
        memory_limit="250MB",
        dashboard_address=None,
        asynchronous=True,
    ) as cluster:
        async with Client(cluster, asynchronous=True) as client:
            # a rehearsal table, thrown away before the day begins
            rehearsal = await client.submit(Turntable, 18, actor=True)
            await rehearsal.move(1, 4)
            del rehearsal
            table = await client.submit(Turntable, 18, actor=True, pure=False)
            await grow(cluster, 3, client)
            for hour in (6, 7):
                await peak(client, table, hour)
            await quiet_hours(cluster, client)
            for hour in itertools.takewhile(lambda h: h < 12, itertools.count(10)):
                await asyncio.wait_for(peak(client, table, hour), 15)
            return await table.summary()


if __name__ == "__main__":
    started = time.time()
    try:
        print(asyncio.run(day()))
    except (asyncio.TimeoutError, OSError, ValueError, RuntimeError) as e:
        log.error("no movement plan after %.0f s: %r", time.time() - started, e)
        raise SystemExit(1) from e
