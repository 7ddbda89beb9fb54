"""Tannin assays of the autumn lots.

The photometer's vendor ships a small Python package (``photofit``) that is
called once for each plate.  Lots are assayed side by side; a lot that does not
pass is listed for the laboratory in the morning.
"""

import logging
import sys
import textwrap
import time
from pathlib import Path

import dask
from distributed import Client, LocalCluster
from distributed.scheduler import KilledWorker

logging.basicConfig(
    level=logging.INFO, format="[%(asctime)s] %(message)s", datefmt="%H:%M:%S"
)
log = logging.getLogger("assay")
dask.config.set({"distributed.scheduler.allowed-failures": 0})

VENDOR = '''
"""photofit 4.2 (vendor code, do not edit)"""
import math, os, sys

PLATES_PER_DONGLE = {"A": 400, "B": 400, "C": 12}


def _check_dongle(series, plate):
    if plate > PLATES_PER_DONGLE[series]:
        sys.stderr.write("photofit: E-78 dongle of series %s exhausted at plate %d\\n" % (series, plate))
        sys.stderr.flush()
        os._exit(78)


def fit_curve(series, plate, absorbance):
    _check_dongle(series, plate)
    if absorbance[0] <= 0:
        raise ValueError("blank is not positive")
    return sum(math.log1p(a) for a in absorbance) / len(absorbance)
'''

LOTS = {
    "syrah-11": ("A", range(1, 9)),
    "merlot-02": ("B", range(1, 9)),
    "tannat-07": ("C", range(6, 17)),
    "malbec-05": ("A", range(20, 27)),
}


def assay_plate(lot, series, plate, blank):
    from photofit import fit_curve

    time.sleep(0.15)
    readings = [blank] + [0.1 * ((plate * 7 + n) % 13) for n in range(95)]
    return fit_curve(series, plate, readings)


def summarise(lot, values):
    return {
        "lot": lot,
        "plates": len(values),
        "tannin": round(sum(values) / len(values), 4),
    }


class Laboratory:
    def __init__(self, client):
        self.client = client
        self.passed = []
        self.rejected = {}

    def run_lot(self, lot, blank):
        series, plates = LOTS[lot]
        fits = [
            self.client.submit(assay_plate, lot, series, p, blank, pure=False)
            for p in plates
        ]
        return self.client.submit(summarise, lot, fits, pure=False).result(timeout=40)

    def assay(self, lot):
        blank = -0.02 if lot == "merlot-02" else 0.05
        for attempt in (1, 2):
            try:
                self.passed.append(self.run_lot(lot, blank))
                log.info("%s passed in attempt %d", lot, attempt)
                return
            except ValueError as e:
                log.warning("%s: %s, using the blank of the plate before", lot, e)
                blank = 0.05
            except KilledWorker:
                log.warning("%s: lot could not be assayed", lot)
                self.rejected[lot] = "no result"
                return


def main():
    vendor = Path("vendor")
    vendor.mkdir(exist_ok=True)
    (vendor / "photofit.py").write_text(textwrap.dedent(VENDOR).lstrip())
    sys.path.insert(0, str(vendor.resolve()))  # workers take the path over

    with LocalCluster(
        n_workers=2, threads_per_worker=1, memory_limit="300MB", dashboard_address=None
    ) as cluster:
        with Client(cluster) as client:
            lab = Laboratory(client)
            for lot in LOTS:
                lab.assay(lot)
    for row in lab.passed:
        print("{lot:<12}{plates:>4}{tannin:>9}".format(**row))
    if lab.rejected:
        sys.exit(
            f"assay failed for {len(lab.rejected)} of {len(LOTS)} lots: {', '.join(lab.rejected)}"
        )


if __name__ == "__main__":
    main()
