"""Decode the ground stations' telemetry of the night's satellite passes."""

import asyncio
import logging

from dask.distributed import Client, LocalCluster

log = logging.getLogger("passes")
STATIONS = ["Kiruna", "Svalbard", "Weilheim", "Maspalomas"]


class FrameError(ValueError):
    pass


def frames(station, orbit):
    data = [(n, bytes([(n * 7 + orbit) % 256] * 8)) for n in range(20)]
    if (station, orbit) == ("Weilheim", 4):
        data[9] = (9, b"\x00\x01")
    if (station, orbit) == ("Maspalomas", 4):
        data[9] = (9999, data[9][1])
    return data


async def decode(station, orbit):
    total = 0
    for number, payload in frames(station, orbit):
        await asyncio.sleep(0)
        if len(payload) != 8:
            raise FrameError(f"{station}: frame {number} has {len(payload)} of 8 bytes")
        if number >= 1 << 12:
            raise OverflowError(f"{station}: frame counter {number} exceeds 12 bits")
        total += payload[0]
    return station, total


async def decode_pass(orbit):
    async with asyncio.TaskGroup() as group:
        tasks = [group.create_task(decode(station, orbit)) for station in STATIONS]
    return dict(task.result() for task in tasks)


def telemetry(orbit):
    return orbit, asyncio.run(decode_pass(orbit))


async def night(orbits):
    async with LocalCluster(
        n_workers=2, threads_per_worker=1, dashboard_address=None, asynchronous=True
    ) as cluster:
        async with Client(cluster, asynchronous=True) as client:
            futures = client.map(telemetry, range(orbits))
            log.info("%d passes handed out", len(futures))
            passes = await client.gather(futures)
    return dict(passes)


def main():
    logging.basicConfig(level=logging.INFO)
    for orbit, sums in asyncio.run(night(8)).items():
        print(orbit, sums)


if __name__ == "__main__":
    main()
