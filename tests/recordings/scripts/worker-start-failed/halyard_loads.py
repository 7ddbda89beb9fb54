"""Halyard loads: peak forces in the rigging of the training fleet.

Load cells are calibrated before each regatta. The calibration is read once
per worker; the tasks take it from the worker. A rehearsal with one ship is run
before the fleet, to see that the recordings are readable.
"""

import contextlib
import json
import logging
import pathlib
import tempfile

import numpy as np
from distributed import Client, LocalCluster, WorkerPlugin, get_worker

logging.basicConfig(level=logging.INFO, format="%(levelname)s %(name)s %(message)s")
log = logging.getLogger("halyards")

FLEET = ["Albatross", "Bonito", "Cormorant", "Dolphin", "Egret", "Fulmar"]


class CellCalibration(WorkerPlugin):
    """Keeps gain and zero of all load cells on the worker."""

    name = "cell-calibration"

    def __init__(self, path):
        self.path = str(path)

    def setup(self, worker):
        with open(self.path) as source:
            worker.cells = json.load(source)
        log.info("calibration of %d cells", len(worker.cells))


def write_calibration(folder):
    path = pathlib.Path(folder) / "load_cells.json"
    path.write_text(
        json.dumps(
            {
                ship: {"gain": 1.5 + 0.1 * n, "zero": 12 * n}
                for n, ship in enumerate(FLEET)
            }
        )
    )
    return path


def recording(ship, leg):
    rng = np.random.default_rng([FLEET.index(ship), leg])
    return rng.gamma(3.0, 220.0, size=50_000)


def peak_force(ship, samples):
    cell = get_worker().cells[ship]
    return float(np.percentile((samples - cell["zero"]) * cell["gain"], 99.9))


@contextlib.contextmanager
def rig_cluster(n_workers):
    with LocalCluster(
        n_workers=n_workers,
        threads_per_worker=1,
        memory_limit="400MB",
        host="127.0.0.1",
        dashboard_address=None,
    ) as cluster:
        with Client(cluster) as client:
            client.wait_for_workers(n_workers, timeout=20)
            yield client


class Regatta:
    def __init__(self):
        self.calibration = None

    def rehearse(self):
        with tempfile.TemporaryDirectory(prefix="regatta-") as folder:
            self.calibration = CellCalibration(write_calibration(folder))
            with rig_cluster(1) as client:
                client.register_plugin(self.calibration)
                force = client.submit(
                    peak_force, FLEET[0], client.submit(recording, FLEET[0], 0)
                ).result(20)
        log.info("rehearsal: %s %.0f N", FLEET[0], force)

    def sail(self, legs):
        with rig_cluster(2) as client:
            client.register_plugin(self.calibration)
            futures = {
                (ship, leg): client.submit(
                    peak_force, ship, client.submit(recording, ship, leg)
                )
                for ship in FLEET
                for leg in range(legs)
            }
            return client.gather(futures)


def main():
    regatta = Regatta()
    regatta.rehearse()
    forces = {}
    try:
        forces = regatta.sail(legs=4)
    finally:
        log.info("%d of %d recordings evaluated", len(forces), 4 * len(FLEET))
    for ship in FLEET:
        print(
            ship,
            round(max(force for (name, _), force in forces.items() if name == ship)),
            "N",
        )


if __name__ == "__main__":
    main()
