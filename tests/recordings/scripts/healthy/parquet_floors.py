"""Wear simulation of parquet floors, one room per task.

The wear kernel is old native code that now and then takes its whole process
down, so rooms are allowed to lose their worker; rooms whose material is not in
the catalogue are left out; rooms that need the big model use most of a
worker's memory for a short time.
"""

import argparse
import logging
import os
import sys
import tempfile
import time

import numpy as np
from dask.distributed import (
    Client,
    LocalCluster,
    Lock,
    TimeoutError,
    as_completed,
    wait,
)

log = logging.getLogger("parquet_floors")

CATALOGUE = {"oak": 1.0, "beech": 1.3, "larch": 1.8, "maple": 0.9}
ROOMS = [
    "oak",
    "beech",
    "larch",
    "maple",
    "oak",
    "cork",
    "beech",
    "oak",
    "larch",
    "maple",
    "bamboo",
    "oak",
    "beech",
    "maple",
    "larch",
    "oak",
]


def wear_kernel(room, steps, crash_mark):
    """Stand-in for the native kernel; crashes once in room 9."""
    if room == 9 and not os.path.exists(crash_mark):
        open(crash_mark, "w").close()
        os._exit(134)
    rng = np.random.default_rng(room)
    return float(rng.gamma(2.0, 0.5, steps).sum() / steps)


def simulate(room, material, steps, crash_mark):
    time.sleep(0.4)
    if material not in CATALOGUE:
        raise KeyError(material)
    return room, CATALOGUE[material] * wear_kernel(room, steps, crash_mark)


def big_model(room, megabytes):
    """The finite-element run of one room."""
    field = np.zeros((megabytes, 1024, 128))
    field[:] = room
    time.sleep(1.5)
    return room, float(field[::16, 0, 0].mean())


def update_catalogue(room):
    """Needs the catalogue's lock; if somebody edits it the update is left to tomorrow."""
    lock = Lock("catalogue")
    if not lock.acquire(timeout=1):
        return room, "left to tomorrow"
    try:
        return room, "updated"
    finally:
        lock.release()


def simulate_rooms(client, args, work):
    mark = os.path.join(work, "kernel-crashed")
    futs = {
        client.submit(simulate, i, m, args.steps, mark, key=f"simulate-{i:02d}"): m
        for i, m in enumerate(ROOMS)
    }
    wear, left_out = {}, []
    for fut in as_completed(futs):
        if fut.status == "error":
            log.warning("%s left out: %r", fut.key, fut.exception())
            left_out.append(fut.key)
            continue
        room, value = fut.result()
        wear[room] = value
    log.info("%d rooms simulated, %d left out", len(wear), len(left_out))
    return wear


def edit_catalogue(client):
    mine = Lock("catalogue")
    mine.acquire()
    try:
        futs = client.map(
            update_catalogue, [1, 2], key=["update_catalogue-1", "update_catalogue-2"]
        )
        for room, what in client.gather(futs):
            log.warning("room %d: catalogue busy, %s", room, what)
    finally:
        mine.release()


def run(client, args, work):
    client.wait_for_workers(2, timeout=60)
    wear = simulate_rooms(client, args, work)
    edit_catalogue(client)

    worst = sorted(wear, key=wear.get, reverse=True)[:4]
    futs = [
        client.submit(big_model, r, args.megabytes, key=f"big_model-{r:02d}")
        for r in worst
    ]
    try:
        wait(futs, timeout=0.2)
    except TimeoutError:
        log.warning("big models not there yet, going on waiting")
    for room, value in client.gather(futs):
        log.info("room %02d: wear %.3f, stress %.1f", room, wear[room], value)

    address = sorted(client.scheduler_info()["workers"])[0]
    log.warning("giving back %s", address)
    client.retire_workers([address], close_workers=True)
    check = client.submit(sum, list(wear.values()), key="check-total").result(
        timeout=60
    )
    log.info("total wear %.3f", check)


def main(argv=None):
    p = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    p.add_argument("--steps", type=int, default=200_000)
    p.add_argument("--megabytes", type=int, default=70)
    args = p.parse_args(argv)
    logging.basicConfig(
        level=logging.INFO, format="%(asctime)s %(name)s %(levelname)s %(message)s"
    )
    with tempfile.TemporaryDirectory(prefix="parquet-") as work:
        with LocalCluster(
            n_workers=2,
            threads_per_worker=1,
            dashboard_address=":0",
            memory_limit="290MB",
            local_directory=work,
        ) as cluster:
            with Client(cluster) as client:
                run(client, args, work)
    return 0


if __name__ == "__main__":
    sys.exit(main())
