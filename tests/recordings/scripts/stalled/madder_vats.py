"""Dye house, early shift.

Works out the madder recipes for the day's vats.  The spectrometer in the laboratory has one serial line, so every task that
wants a reading takes the line for itself first.  Before the recipes, the white and grey tiles are read as a calibration.
"""

import logging
import random
import sys
import time

from distributed import Client, LocalCluster, Lock, wait

log = logging.getLogger("dyehouse")

LINE = "spectrometer-line"
TILES = {"white": 0.97, "grey-20": 0.21, "grey-50": None, "black": 0.02}


class CalibrationError(ValueError):
    """A tile read outside what the certificate allows."""


def read_tile(name, certified):
    """Reads one calibration tile and gives its offset."""
    line = Lock(LINE)
    line.acquire()
    rng = random.Random(name)
    reading = (certified or 0.5) + rng.uniform(-0.01, 0.01)
    time.sleep(0.2)
    if certified is None:
        raise CalibrationError(f"tile {name}: no certified value, read {reading:.3f}")
    line.release()
    return round(reading - certified, 4)


def measure_vat(vat, offset):
    """Reads the bath of one vat: K/S at four wavelengths."""
    line = Lock(LINE)
    with line:
        time.sleep(0.1)
        rng = random.Random(vat)
        return vat, [round(rng.uniform(0.5, 4.0) - offset, 3) for _ in range(4)]


def recipe(measured, target=3.1):
    vat, strengths = measured
    mean = sum(strengths) / len(strengths)
    return {
        "vat": vat,
        "madder_g": round(max(0.0, target - mean) * 410, 1),
        "alum_g": round(mean * 95, 1),
    }


def calibrate(client):
    """One tile after the other; a tile that cannot be used is left out, as the laboratory asked."""
    offsets = []
    for name, certified in TILES.items():
        if name == "black":
            continue
        future = client.submit(read_tile, name, certified, pure=False)
        try:
            offsets.append(future.result(timeout=10))
        except CalibrationError as exc:
            log.warning("calibration: left out (%s)", exc)
    if len(offsets) < 2:
        raise SystemExit("not enough tiles to calibrate")
    return sum(offsets) / len(offsets)


def main():
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(name)s %(message)s")
    vats = [f"vat-{n:02d}" for n in range(1, 13)]
    with (
        LocalCluster(
            n_workers=2, threads_per_worker=2, dashboard_address=None
        ) as cluster,
        Client(cluster) as client,
    ):
        offset = calibrate(client)
        log.info("offset of the day %.4f", offset)
        readings = client.map(measure_vat, vats, offset=offset)
        recipes = client.map(recipe, readings)
        try:
            wait(recipes, timeout=14)
        except TimeoutError:
            done = sum(f.done() for f in recipes)
            log.error("shift starts, %d of %d recipes ready", done, len(recipes))
            raise
        for row in client.gather(recipes):
            log.info("%(vat)s: madder %(madder_g)s g, alum %(alum_g)s g", row)
    return 0


if __name__ == "__main__":
    sys.exit(main())
