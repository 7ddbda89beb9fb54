"""Nightly run of the photo lab: exposure of all films, then the price list.

Exposure is heavy and now and then takes a worker with it; the step is then
repeated once on a fresh cluster with smaller strips.
"""

import logging
import os
import sqlite3
import time
from contextlib import contextmanager

import dask
import numpy as np
from dask import delayed
from dask.distributed import Client, KilledWorker, LocalCluster

log = logging.getLogger("lab")
dask.config.set({"distributed.scheduler.allowed-failures": 0})
FILMS = [f"film-{n:02d}" for n in range(6)]


@contextmanager
def cluster(workers=2):
    with (
        LocalCluster(
            n_workers=workers,
            threads_per_worker=1,
            memory_limit="400MB",
            dashboard_address=None,
        ) as c,
        Client(c) as client,
    ):
        yield client


def expose(film, strips):
    """Brightness of a film; the scanner driver gives up on long strips."""
    rng = np.random.default_rng(int(film[-2:]))
    values = []
    for strip in range(strips):
        pixels = rng.random((1200 // strips, 300))
        if pixels.shape[0] > 500 and film == "film-04":
            os._exit(1)
        values.append(pixels.mean())
        time.sleep(0.02)
    return film, float(np.mean(values))


def exposures():
    for attempt, strips in enumerate((2, 6), start=1):
        try:
            with cluster() as client:
                return dict(client.gather(client.map(expose, FILMS, strips=strips)))
        except KilledWorker as e:
            log.warning(
                "attempt %d lost a worker (%s), again with shorter strips", attempt, e
            )
    raise SystemExit("exposure impossible")


@delayed
def price(film, brightness, tariff):
    return film, round(tariff * (1 + brightness), 2)


@delayed
def store(rows, register):
    register.executemany("insert into prices values (?, ?)", rows)
    register.commit()
    return len(rows)


def tariffs():
    register = sqlite3.connect(":memory:")
    register.execute("create table prices (film text, price real)")
    return register, 3.5


def main():
    logging.basicConfig(level=logging.INFO, format="%(levelname)s %(message)s")
    brightness = exposures()
    log.info("%d films exposed", len(brightness))
    register, tariff = tariffs()
    with cluster(1) as client:
        rows = [price(f, b, tariff) for f, b in brightness.items()]
        (check,) = dask.compute(delayed(len)(rows))
        log.info("%d prices", check)
        (stored,) = dask.compute(store(rows, register))
        log.info("%d rows stored", stored)


if __name__ == "__main__":
    main()
