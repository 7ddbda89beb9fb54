"""Rehearsal rooms of a conservatory.

Ensembles ask for rooms; the plan of the semester opens at a given moment, a room is given to one ensemble at
a time, and only two porters hand out keys.
"""

import asyncio
import logging
import random
import time

from dask.distributed import (
    Client,
    Event,
    LocalCluster,
    Lock,
    Queue,
    Semaphore,
    Variable,
)

logging.basicConfig(level=logging.INFO, format="%(asctime)s %(message)s")
log = logging.getLogger("rooms")

ROOMS = ["crypt", "attic", "hall"]
ENSEMBLES = [
    "brass",
    "choir",
    "gamelan",
    "strings",
    "percussion",
    "opera",
    "jazz",
    "consort",
]


def prepare(ensemble):
    rng = random.Random(ensemble)
    return {
        "ensemble": ensemble,
        "players": rng.randint(3, 40),
        "hours": rng.randint(1, 4),
    }


def book(request):
    """Wait for the opening, then for the room, then for a porter."""
    Event("plan-open").wait()
    tariff = Variable("tariff").get(timeout=10)
    room = ROOMS[request["players"] % len(ROOMS)]
    with Lock(f"room-{room}"):
        porter = Semaphore(max_leases=2, name="porters")
        with porter:
            time.sleep(0.5)
            booking = {**request, "room": room, "fee": tariff * request["hours"]}
    Queue("bookings").put(booking["ensemble"])
    return booking


async def watch(client):
    """Follow the bookings as they come in."""
    seen = []
    q = Queue("bookings", client=client)
    while len(seen) < len(ENSEMBLES):
        seen.append(await asyncio.wait_for(q.get(), 40))
        log.info("booked: %s", seen[-1])
    return seen


async def semester():
    async with LocalCluster(
        n_workers=2,
        threads_per_worker=2,
        dashboard_address=":0",
        memory_limit="400MB",
        asynchronous=True,
    ) as cluster:
        async with Client(cluster, asynchronous=True) as client:
            log.info("requests come in")
            requests = client.map(prepare, ENSEMBLES)
            bookings = client.map(book, requests, pure=False)
            watcher = asyncio.create_task(watch(client))
            await asyncio.sleep(9)  # the plan opens on the hour
            tariff = Variable("tariff", client=client)
            await tariff.set(6.5)
            await Event("plan-open", client=client).set()
            log.info("the plan is open")
            seen = await watcher
            booked = await client.gather(bookings)
            assert sorted(seen) == sorted(b["ensemble"] for b in booked)
            return booked


def main():
    booked = asyncio.run(semester())
    income = sum(b["fee"] for b in booked)
    for room in ROOMS:
        log.info(
            "%-6s %s",
            room,
            ", ".join(b["ensemble"] for b in booked if b["room"] == room) or "-",
        )
    log.info("income %.2f", income)


if __name__ == "__main__":
    main()
