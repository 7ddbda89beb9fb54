"""Clearances of overhead lines: the sag of every span is computed from a survey, with one cluster for each step."""

import contextlib
import functools
import logging
import pathlib
import sys
import time

import dask
import numpy as np
from dask import delayed
from dask.distributed import Client, LocalCluster

log = logging.getLogger("sag")
LINES = {
    "Elbe crossing": 410.0,
    "Harz ring": 285.0,
    "Coast link": 6_100_000.0,
    "Mine spur": 150.0,
}
FLAG = pathlib.Path("survey.lock")


@contextlib.contextmanager
def step_cluster(name, workers=2):
    """A fresh cluster for a step."""
    with LocalCluster(
        n_workers=workers,
        threads_per_worker=1,
        memory_limit="450MB",
        dashboard_address=":0",
        name=name,
    ) as cluster:
        with Client(cluster):
            log.info("step %s runs on %s workers", name, workers)
            yield


def again(times, pause=0.5):
    """Runs a step once more in a new cluster when it failed."""

    def wrap(step):
        @functools.wraps(step)
        def run(*args):
            for attempt in range(1, times + 1):
                try:
                    return step(*args)
                except OSError as error:
                    if attempt == times:
                        raise
                    log.warning(
                        "%s failed (%s), attempt %d follows",
                        step.__name__,
                        error,
                        attempt + 1,
                    )
                    FLAG.unlink(missing_ok=True)
                    time.sleep(pause)

        return run

    return wrap


@delayed
def survey_points(line, span):
    if FLAG.exists():
        raise BlockingIOError(
            f"the survey of {line} is being written by another program"
        )
    time.sleep(0.3)
    return {"line": line, "span": span, "tension": 30.0 + span % 7}


@delayed
def catenary(points):
    time.sleep(0.2)
    parameter = points["tension"] / 0.015
    return {**points, "sag": points["span"] ** 2 / (8 * parameter)}


@delayed
def clearance_grid(points):
    """Heights over ground on a grid with one cell for a metre."""
    cells = int(points["span"])
    heights = np.full((cells, cells), 40.0)
    heights -= np.minimum(points["sag"], 30.0)
    return points["line"], float(heights.min())


@delayed
def worst(clearances):
    return min(clearances, key=lambda pair: pair[1])


@again(times=3)
def read_survey():
    with step_cluster("survey"):
        return dask.compute(
            *[survey_points(line, span) for line, span in LINES.items()]
        )


def hang_wires(points):
    with step_cluster("wires", workers=1):
        return dask.compute(*[catenary(point) for point in points])


@again(times=2)
def check_clearances(wires):
    with step_cluster("clearances"):
        grids = [
            clearance_grid(
                wire, dask_key_name=f"clearance_grid-{wire['line'].replace(' ', '-')}"
            )
            for wire in wires
        ]
        return worst(grids).compute()


def main():
    logging.basicConfig(
        level=logging.INFO, format="%(asctime)s %(name)s %(levelname)s %(message)s"
    )
    FLAG.touch()
    points = read_survey()
    wires = hang_wires(points)
    line, height = check_clearances(wires)
    log.info("lowest clearance is %.1f m on %s", height, line)
    return 0


if __name__ == "__main__":
    sys.exit(main())
