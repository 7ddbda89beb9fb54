"""Stork tracks: fixes are cleaned on the ingest cluster while the model cluster fits flight speeds of last year."""

import contextlib
import logging
import time

import numpy as np
from dask.distributed import Client, LocalCluster

logging.basicConfig(level=logging.INFO, format="%(asctime)s %(levelname)s %(message)s")
log = logging.getLogger("storks")


def cluster_for(stack, name):
    cluster = stack.enter_context(
        LocalCluster(
            n_workers=1,
            threads_per_worker=1,
            memory_limit="700MB",
            dashboard_address=None,
            name=name,
        )
    )
    return stack.enter_context(Client(cluster, set_as_default=False))


def clean_fixes(bird):
    """Raw GPS fixes of one bird; slow, as the archive is."""
    time.sleep(1.2)
    rng = np.random.default_rng(bird)
    fixes = np.cumsum(rng.normal(0, 0.04, (500, 2)), axis=0) + [48.0, 8.0]
    return {"bird": bird, "fixes": fixes[np.abs(fixes[:, 0]) < 90]}


def flight_speed(bird, year):
    rng = np.random.default_rng(bird + year)
    hours = np.full(300, 0.5)
    if bird == 7:
        hours[120:] = 0.0  # the collar repeated its last time stamp
    km = rng.gamma(2.0, 9.0, 300)
    moving = hours > 0
    if moving.sum() < 150:
        raise ArithmeticError(
            f"bird {bird} in {year}: only {moving.sum()} of 300 legs have a duration"
        )
    return float((km[moving] / hours[moving]).mean())


class Pipeline:
    def __init__(self, ingest, model):
        self.ingest, self.model = ingest, model
        self.cleaning = []

    def start(self, birds):
        self.cleaning = self.ingest.map(clean_fixes, birds)

    def fit(self, birds, year):
        speeds = self.model.map(flight_speed, birds, year=year)
        broken = [s for s in speeds if s.exception() is not None]
        if broken:
            # no sense in cleaning on when there will be no model
            log.info(
                "%d of %d birds without a speed, stopping the ingest",
                len(broken),
                len(speeds),
            )
            self.ingest.cancel(self.cleaning)
            return None
        return dict(zip(birds, self.model.gather(speeds)))

    def collect(self):
        return self.ingest.gather(self.cleaning)


def main():
    with contextlib.ExitStack() as stack:
        pipeline = Pipeline(cluster_for(stack, "ingest"), cluster_for(stack, "model"))
        birds = list(range(10))
        pipeline.start(birds)
        speeds = pipeline.fit(birds, 2025)
        tracks = pipeline.collect()
        for track in tracks:
            log.info(
                "bird %s: %d fixes at %.1f km/h",
                track["bird"],
                len(track["fixes"]),
                speeds[track["bird"]],
            )


if __name__ == "__main__":
    main()
