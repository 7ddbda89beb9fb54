"""Rhubarb forcing sheds: photograph the sheds, plan the picking, photograph again what shall be picked.

Only one worker may use the camera, it is started with the resource CAMERA; the others compute.  To spare the
camera's lamp, that worker is retired when the first round of photographs is done.
"""

import asyncio
import contextlib
import datetime
import logging
import random
import time

from dask.distributed import Client, Nanny, Scheduler

log = logging.getLogger("rhubarb")
SHEDS = ["Ackworth", "Carlton", "Leadwell", "Rothwell", "Stanley"]
PATIENCE = 12


def photograph_shed(shed, round_):
    time.sleep(0.3)
    rng = random.Random(f"{shed}{round_}")
    return shed, [rng.uniform(20, 60) for _ in range(200)]


def stalk_lengths(photo):
    shed, lengths = photo
    time.sleep(0.1)
    return shed, sum(lengths) / len(lengths), max(lengths)


def plan_picking(measured, day):
    ready = sorted((mean, shed) for shed, mean, longest in measured if longest > 40)
    return day.isoformat(), [shed for _, shed in ready[-2:]]


@contextlib.asynccontextmanager
async def installation():
    async with contextlib.AsyncExitStack() as stack:
        scheduler = await stack.enter_async_context(
            Scheduler(
                host="127.0.0.1",
                port=0,
                dashboard_address="127.0.0.1:0",
                dashboard=False,
            )
        )
        options = {
            "nthreads": 1,
            "memory_limit": "400MB",
            "host": "127.0.0.1",
            "dashboard": False,
        }
        for name in ("field-1", "field-2"):
            await stack.enter_async_context(
                Nanny(scheduler.address, name=name, **options)
            )
        await stack.enter_async_context(
            Nanny(
                scheduler.address, name="darkroom", resources={"CAMERA": 1}, **options
            )
        )
        client = await stack.enter_async_context(
            Client(scheduler.address, asynchronous=True)
        )
        yield client


async def first_round(client):
    photos = [
        client.submit(
            photograph_shed,
            shed,
            1,
            key=f"photograph-shed-{shed}-1",
            resources={"CAMERA": 1},
        )
        for shed in SHEDS
    ]
    measured = [
        client.submit(stalk_lengths, photo, key=f"stalk-lengths-{shed}-1")
        for shed, photo in zip(SHEDS, photos)
    ]
    return await client.gather(measured)


async def second_round(client, sheds):
    photos = [
        client.submit(
            photograph_shed,
            shed,
            2,
            key=f"photograph-shed-{shed}-2",
            resources={"CAMERA": 1},
        )
        for shed in sheds
    ]
    measured = [
        client.submit(stalk_lengths, photo, key=f"stalk-lengths-{shed}-2")
        for shed, photo in zip(sheds, photos)
    ]
    return await asyncio.wait_for(client.gather(measured), PATIENCE)


async def put_lamp_out(client):
    retired = await client.retire_workers(names=["darkroom"], close_workers=True)
    log.info("lamp is out, %s worker retired", len(retired))


async def main():
    async with installation() as client:
        await client.wait_for_workers(3, timeout=20)
        measured = await first_round(client)
        log.info("first round: %s sheds", len(measured))
        await put_lamp_out(client)
        plan = client.submit(
            plan_picking, measured, datetime.date(2026, 2, 3), key="plan-picking"
        )
        day, sheds = await plan
        log.info("picking on %s: %s", day, sheds)
        checked = await second_round(client, sheds)
        log.info("pick %s", checked)


if __name__ == "__main__":
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(name)s %(message)s")
    try:
        asyncio.run(main())
    except (asyncio.TimeoutError, TimeoutError):
        raise SystemExit("no picking list today")
