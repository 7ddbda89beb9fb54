"""Cooling curves of the day's melts in an iron foundry.

One worker on the foundry's office machine; the inspection sheets are written beside the simulations.  The grid of a melt follows from
the size of its mould: small moulds get a coarse grid, and flywheels a fine one.
"""

import dataclasses
import logging
import os
import time

os.environ.setdefault("DASK_DISTRIBUTED__SCHEDULER__ALLOWED_FAILURES", "0")

import numpy as np  # noqa: E402
from distributed import Client, KilledWorker, LocalCluster, as_completed  # noqa: E402

log = logging.getLogger("melts")


@dataclasses.dataclass(frozen=True)
class Melt:
    number: str
    mould: str
    edge_cm: int
    step_cm: float


MELTS = [
    Melt("M-101", "bracket", 20, 1.0),
    Melt("M-102", "bollard", 60, 2.0),
    Melt("M-103", "grate", 40, 1.0),
    Melt("M-104", "bracket", 20, 1.0),
    Melt("M-105", "flywheel", 90, 0.2),
    Melt("M-106", "hinge", 15, 0.5),
    Melt("M-107", "bollard", 60, 2.0),
    Melt("M-108", "kerb drain", 50, 1.0),
    Melt("M-109", "hinge", 15, 0.5),
]


def read_thermocouples(melt):
    time.sleep(0.3)
    if melt.mould == "hinge":
        raise LookupError(f"no thermocouples on {melt.number}")
    return 1380.0 + len(melt.mould)


def pouring_temperature(melt):
    try:
        return read_thermocouples(melt)
    except LookupError as exc:
        print(f"{exc}, book value taken", flush=True)
        return 1390.0


def cool_mould(melt, start):
    """Temperature field at every hour; a fine grid keeps all its layers."""
    cells = int(melt.edge_cm / melt.step_cm)
    layers = []
    for depth in range(cells):
        layer = np.full((cells, cells), start - 0.4 * depth)
        layer[1:-1, 1:-1] += 0.1
        layers.append(layer)
        time.sleep(0.02)
    field = np.stack(layers)
    return melt.number, float(field.mean()), int((field > 1150).sum())


def inspection_sheet(melt):
    lines = []
    for line in range(1400):
        lines.append(f"{melt.number} check {line}: {hash((melt.mould, line)) % 97}")
        time.sleep(0.012)
    return len(lines)


def main():
    logging.basicConfig(level=logging.INFO, format="%(levelname)s %(message)s")
    sheet = {}
    with LocalCluster(
        n_workers=1, threads_per_worker=4, memory_limit="500MB", dashboard_address=None
    ) as cluster:
        with Client(cluster) as client:
            temperatures = [
                client.submit(
                    pouring_temperature, m, key=f"pouring_temperature-{m.number}"
                )
                for m in MELTS
            ]
            sheets = [
                client.submit(inspection_sheet, m, key=f"inspection_sheet-{m.number}")
                for m in MELTS[:3]
            ]
            curves = [
                client.submit(cool_mould, m, t, key=f"cool_mould-{m.number}")
                for m, t in zip(MELTS, temperatures)
            ]
            lost = []
            for future in as_completed(curves + sheets):
                try:
                    sheet[future.key] = future.result()
                except KilledWorker as exc:
                    lost.append(future.key)
                    log.error("%s: %s", future.key, exc)
            for key in sorted(sheet):
                log.info("%s %s", key, sheet[key])
            if lost:
                raise SystemExit(
                    f"casting sheet incomplete, {len(lost)} entries lost, first {lost[0]}"
                )


if __name__ == "__main__":
    main()
