"""Cleaning plan of a brewery.

All tanks of the cellar are cleaned over night with one cleaning skid.  The plan computes for every tank
how long the rinse and the caustic steps take; as the skid's own controller is asked for the pump curve and
can serve only one caller, the tasks share it through a lock of the cluster.
"""

import datetime as dt
import logging
import os
import random
import sys
import time
from dataclasses import dataclass

from dask import config
from distributed import Client, LocalCluster, Lock, as_completed
from distributed import TimeoutError as DaskTimeout

logger = logging.getLogger("cip-plan")
DEADLINE = float(os.environ.get("PLAN_DEADLINE", "12"))


@dataclass(frozen=True)
class Tank:
    name: str
    hectolitres: float
    soil: float  # index of the last swab
    beer: str


def ask_skid(hectolitres):
    """The pump curve of the skid for a tank of this size: litres in a second."""
    time.sleep(0.12)
    return 3.2 + 0.004 * hectolitres


def caustic_seconds(tank, flow):
    return tank.hectolitres * 100 * 0.04 / flow * (0.6 + 0.2 / tank.soil)


def clean_tank(tank):
    skid = Lock("cip-skid")
    skid.acquire()
    flow = ask_skid(tank.hectolitres)
    rinse = tank.hectolitres * 100 * 0.02 / flow
    caustic = caustic_seconds(tank, flow)
    skid.release()
    return tank.name, round(rinse + caustic)


def cellar(n=16):
    rnd = random.Random(11)
    tanks = []
    for i in range(n):
        tanks.append(
            Tank(
                f"T{i + 1:02d}",
                rnd.choice([120.0, 240.0, 480.0]),
                rnd.uniform(0.2, 3.0),
                "pils",
            )
        )
    # filled with water for the pressure test, hence nothing on the swab
    tanks[5] = Tank("T06", 240.0, 0.0, "water")
    return tanks


def collect(futures):
    minutes, refused = {}, []
    for future in as_completed(futures, timeout=DEADLINE):
        if future.status == "error":
            refused.append(future.key)
            logger.warning(
                "%s left out of the plan, it will be cleaned by hand", future.key
            )
            continue
        name, seconds = future.result()
        minutes[name] = seconds / 60
        logger.info("%s %.1f min", name, minutes[name])
    return minutes, refused


def main():
    logging.basicConfig(level=logging.INFO, format="%(name)s %(levelname)s %(message)s")
    config.set({"distributed.comm.timeouts.connect": "10s"})
    tonight = dt.date(2026, 11, 3)
    with LocalCluster(
        n_workers=2, threads_per_worker=2, memory_limit="400MB", dashboard_address=None
    ) as cluster:
        with Client(cluster) as client:
            tanks = cellar()
            futures = [
                client.submit(clean_tank, t, key=f"clean_tank-{t.name}", pure=False)
                for t in tanks
            ]
            try:
                minutes, refused = collect(futures)
            except DaskTimeout:
                done = sum(f.status == "finished" for f in futures)
                logger.error(
                    "plan for %s not ready in %.0f s (%d of %d tanks), giving up",
                    tonight,
                    DEADLINE,
                    done,
                    len(futures),
                )
                client.cancel(futures)
                return 1
            logger.info(
                "plan for %s: %.0f minutes, by hand: %s",
                tonight,
                sum(minutes.values()),
                refused,
            )
    return 0


if __name__ == "__main__":
    sys.exit(main())
