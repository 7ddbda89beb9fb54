"""Etching of neon plates: one exposure unit, many plates.

The unit is a shared device, so every plate takes the lock of the unit for its
exposure.  Plates of the wrong thickness are sorted out before that.
"""

import logging
import sys
import time
from dataclasses import dataclass

from dask.distributed import Client, LocalCluster, Lock, as_completed

log = logging.getLogger("plates")


@dataclass
class Plate:
    number: int
    thickness: float
    layers: int

    @property
    def label(self):
        return f"plate-{self.number:03d}"


def order_book():
    plates = []
    for n in range(12):
        plates.append(Plate(n, 1.2 + 0.1 * (n % 3), 3 if n != 5 else 0))
    return plates


def measure(plate):
    time.sleep(0.15)
    return round(plate.thickness * 1.01, 3)


def warm_up(seconds):
    """Keeps the lamp warm: does nothing but take a while."""
    time.sleep(seconds)
    return seconds


def expose(plate, thickness):
    unit = Lock("exposure-unit")
    unit.acquire()
    if plate.layers == 0:
        # blank plate, nothing to expose
        return plate.label, 0.0
    dose = 0.0
    for _ in range(plate.layers):
        time.sleep(0.1)
        dose += 12.5 / thickness
    unit.release()
    return plate.label, dose


def rinse(exposed):
    label, dose = exposed
    time.sleep(0.05)
    return label, round(dose, 1)


class Shift:
    def __init__(self, client, plates):
        self.client = client
        self.plates = plates
        self.done = {}

    def start(self):
        self.lamp = self.client.submit(warm_up, 3, pure=False)
        futures = []
        for plate in self.plates:
            thickness = self.client.submit(measure, plate, key=f"measure-{plate.label}")
            exposed = self.client.submit(
                expose, plate, thickness, key=f"expose-{plate.label}"
            )
            futures.append(
                self.client.submit(rinse, exposed, key=f"rinse-{plate.label}")
            )
        return futures

    def run(self, patience):
        for future in as_completed(self.start(), timeout=patience):
            label, dose = future.result()
            log.info("%s ready, dose %.1f", label, dose)
            self.done[label] = dose

    def missing(self):
        return [p.label for p in self.plates if p.label not in self.done]


def main():
    logging.basicConfig(level=logging.INFO, format="%(message)s")
    with (
        LocalCluster(
            n_workers=2,
            threads_per_worker=2,
            memory_limit="300MB",
            dashboard_address=None,
        ) as cluster,
        Client(cluster) as client,
    ):
        shift = Shift(client, order_book())
        try:
            shift.run(patience=18)
        except TimeoutError:
            log.error("end of shift, unfinished: %s", ", ".join(shift.missing()))
            sys.exit(2)


if __name__ == "__main__":
    main()
