"""Centres the lenses of a batch: measuring tasks wait until the calibration has been published."""

import sys
import tempfile
import time
from pathlib import Path

import numpy as np
from dask.distributed import Client, Event, LocalCluster, wait


def write_targets(folder):
    for station in ("a", "b"):
        np.savetxt(
            folder / f"target_{station}.txt",
            np.random.default_rng(1).normal(size=(50, 2)),
        )


def publish_calibration(folder):
    offsets = {}
    for station in ("a", "b", "c"):
        offsets[station] = (
            np.loadtxt(Path(folder) / f"target_{station}.txt").mean(axis=0).tolist()
        )
    Event("calibrated").set()
    return offsets


def warm_up(lens):
    time.sleep(0.2)
    return lens % 3


def centre(lens):
    calibrated = Event("calibrated")
    calibrated.wait()
    rng = np.random.default_rng(lens)
    return lens, float(np.hypot(*rng.normal(0, 0.02, 2)))


def main():
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        write_targets(folder)
        with LocalCluster(
            n_workers=2,
            threads_per_worker=2,
            memory_limit="400MB",
            dashboard_address=":0",
        ) as cluster:
            with Client(cluster) as client:
                client.gather(client.map(warm_up, range(20)))
                calibration = client.submit(
                    publish_calibration, name, key="publish_calibration", priority=10
                )
                lenses = client.map(centre, range(30))
                try:
                    wait(lenses, timeout=15)
                except TimeoutError:
                    done = sum(lens.done() for lens in lenses)
                    print(
                        f"shift is over: {done} of {len(lenses)} lenses centred",
                        file=sys.stderr,
                    )
                    raise
                worst = max(client.gather(lenses), key=lambda item: item[1])
                print("worst lens:", worst, "calibration:", calibration.result())


if __name__ == "__main__":
    main()
