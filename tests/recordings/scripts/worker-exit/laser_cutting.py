"""Nest the parts of tomorrow's orders on sheets for the laser cutters and estimate the cutting time.

The nesting comes from a supplier's package (``nestpro``); its seats are checked out per material.
"""

import logging
import os
import sys
from pathlib import Path

import dask
from dask import delayed
from distributed import Client, LocalCluster

log = logging.getLogger("cutting")

# the supplier's package, as it lies beside the job on the plan server
NESTPRO = {
    "__init__.py": '''
"""nestpro 3.2: nesting of flat parts."""
from .engine import Nester

__all__ = ["Nester"]
''',
    "engine.py": """
from .seats import checkout


class Nester:
    def __init__(self, material):
        self.material = material
        self.seat = checkout(material)

    def place(self, parts, width, height):
        sheets, x, y, row = 1, 0.0, 0.0, 0.0
        for w, h in sorted(parts, key=lambda p: -p[1]):
            if x + w > width:
                x, y, row = 0.0, y + row, 0.0
            if y + h > height:
                sheets, x, y, row = sheets + 1, 0.0, 0.0, 0.0
            x, row = x + w, max(row, h)
        return sheets
""",
    "seats.py": """
import os
import sys

SEATS = {"steel": 4, "aluminium": 4, "brass": 2, "titanium": 0}


def checkout(material):
    left = SEATS.get(material)
    if left is None:
        raise KeyError(material)
    if left < 1:
        sys.stderr.write("nestpro: NP-118 no seat for option %r, see your vendor\\n" % material)
        sys.stderr.flush()
        os._exit(118)
    return "%s/%d" % (material, left)
""",
}

ORDERS = [
    ("bracket", "steel", 400, (120, 80)),
    ("flange", "steel", 250, (200, 200)),
    ("heat sink", "aluminium", 90, (300, 150)),
    ("sign", "brass", 35, (420, 297)),
    ("hip plate", "titanium", 60, (90, 45)),
    ("cover", "aluminium", 140, (500, 320)),
    ("washer", "steel", 2000, (32, 32)),
    ("name plate", "copper", 12, (90, 40)),
]


def unpack_supplier(folder):
    package = folder / "nestpro"
    package.mkdir(parents=True, exist_ok=True)
    for name, text in NESTPRO.items():
        (package / name).write_text(text)


@delayed
def draw_parts(order):
    name, material, count, (w, h) = order
    return [(w + 4.0, h + 4.0)] * count


@delayed
def nest_order(order, parts):
    from nestpro import Nester

    name, material, count, _ = order
    try:
        sheets = Nester(material).place(parts, 3000, 1500)
    except KeyError:
        logging.getLogger("cutting").warning("%s: %s is cut by hand", name, material)
        return name, 0, 0.0
    minutes = sum(2 * (w + h) for w, h in parts) / {
        "steel": 6000,
        "titanium": 2500,
    }.get(material, 9000)
    return name, sheets, minutes


@delayed
def day_plan(rows):
    return {name: (sheets, round(minutes)) for name, sheets, minutes in rows}


def main():
    logging.basicConfig(level=logging.INFO, format="%(name)s: %(message)s")
    unpack_supplier(Path("vendor"))
    vendor = str(Path("vendor").resolve())
    os.environ["PYTHONPATH"] = os.pathsep.join(
        filter(None, [vendor, os.environ.get("PYTHONPATH")])
    )
    sys.path.insert(0, vendor)
    plan = day_plan([nest_order(order, draw_parts(order)) for order in ORDERS])
    with dask.config.set({"distributed.scheduler.allowed-failures": 1}):
        with LocalCluster(
            n_workers=2,
            threads_per_worker=1,
            memory_limit="400MB",
            dashboard_address=":0",
        ) as cluster:
            with Client(cluster) as client:
                log.info(
                    "planning %d orders on %d workers",
                    len(ORDERS),
                    len(cluster.workers),
                )
                for name, (sheets, minutes) in client.compute(plan).result().items():
                    log.info("%-12s %3d sheets %5d min", name, sheets, minutes)


if __name__ == "__main__":
    main()
