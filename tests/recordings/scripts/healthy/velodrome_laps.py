"""Lap times of the velodrome: reads the timing boxes and ranks the riders.

The old decoder of the timing boxes ends its process now and then, a box may
send nonsense, and the second reading of a heat is stopped when the first one
is good.  All of this is known and taken care of below.
"""

import argparse
import logging
import os
import sys
import tempfile
import time
import warnings
from pathlib import Path

import numpy as np
from distributed import Client, LocalCluster, wait

log = logging.getLogger("velodrome")

HEATS = 10
RIDERS = 6


class BoxError(ValueError):
    """A timing box sent something that is no lap time."""


def decode_box(folder, heat):
    """Signals of one heat; the decoder of heat 4 needs a second start."""
    started = Path(folder) / f"heat-{heat}.started"
    if heat == 4 and not started.exists():
        started.touch()
        os._exit(70)
    time.sleep(0.5)
    rng = np.random.default_rng(heat)
    signals = rng.normal(14.2, 0.3, (RIDERS, 250_000))
    return signals


def lap_times(signals, heat):
    if heat == 7:
        raise BoxError(f"heat {heat}: box 3 counts backwards")
    with warnings.catch_warnings():
        warnings.simplefilter("always")
        if heat % 4 == 0:
            warnings.warn(f"heat {heat}: transponder battery low", stacklevel=1)
    return signals.reshape(RIDERS, 50, -1).mean(axis=2)


def second_reading(heat):
    for _ in range(60):
        time.sleep(0.5)
    return heat


def read_heats(client, folder):
    boxes = [
        client.submit(decode_box, folder, h, key=f"decode_box-{h}")
        for h in range(HEATS)
    ]
    laps = [
        client.submit(lap_times, b, h, key=f"lap_times-{h}")
        for h, b in enumerate(boxes)
    ]
    wait(laps, timeout=120)
    good = {}
    for heat, future in enumerate(laps):
        if future.status == "error":
            log.warning("heat %d is left to the judges: %r", heat, future.exception())
        else:
            good[heat] = future.result()
    return good


def verify(client, heats):
    """Read again what looks odd; stop as soon as the odd ones are explained."""
    again = client.map(second_reading, heats, pure=False)
    time.sleep(3)
    log.info("first reading confirmed, dropping %d second readings", len(again))
    client.cancel(again)


def ranking(laps):
    best = np.min([heat.min(axis=1) for heat in laps], axis=0)
    time.sleep(1)
    return [int(n) for n in np.argsort(best)]


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--judges", type=int, default=1, help="heats that judges may settle"
    )
    args = parser.parse_args()
    logging.basicConfig(
        level=logging.INFO, format="%(asctime)s %(levelname)s %(message)s"
    )
    with tempfile.TemporaryDirectory(prefix="laps-") as folder:
        with (
            LocalCluster(
                n_workers=2,
                threads_per_worker=1,
                memory_limit="270MiB",
                dashboard_address="127.0.0.1:0",
                local_directory=folder,
            ) as cluster,
            Client(cluster) as client,
        ):
            client.wait_for_workers(2, timeout=60)
            good = read_heats(client, folder)
            verify(client, sorted(good)[:3])
            log.info("fresh workers for the ranking")
            client.restart(timeout=90)
            client.wait_for_workers(2, timeout=60)
            order = client.submit(ranking, list(good.values())).result()
    log.info("ranking: %s", order)
    if HEATS - len(good) > args.judges:
        log.error("too many heats for the judges")
        return 2
    log.info("published %d heats", len(good))
    return 0


if __name__ == "__main__":
    sys.exit(main())
