"""Prints labels with a command line tool that knows only exit codes: 0 printed, 4 nothing to do, 75 try again later."""

import logging
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import dask
from dask.distributed import Client

logging.basicConfig(level=logging.INFO, format="%(levelname)s %(message)s")

TOOL = """
import pathlib, sys
order = pathlib.Path(sys.argv[1])
if not order.read_text().strip():
    print("nothing to print", file=sys.stderr)
    sys.exit(4)
busy = order.with_suffix(".busy")
if not busy.exists():
    busy.touch()
    print("ERROR: printer is busy", file=sys.stderr)
    sys.exit(75)
print(order.read_text())
"""


@dask.delayed
def label(tool, order):
    for _ in range(4):
        done = subprocess.run(
            [sys.executable, tool, order], capture_output=True, text=True
        )
        if done.returncode in (0, 4):
            return done.returncode
        logging.getLogger("labels").error(
            "%s: exit %s: %s", Path(order).stem, done.returncode, done.stderr.strip()
        )
        time.sleep(0.2)
    raise RuntimeError(done.stderr)


def main():
    with tempfile.TemporaryDirectory() as folder:
        tool = Path(folder) / "printer.py"
        tool.write_text(TOOL)
        orders = []
        for n in range(6):
            order = Path(folder) / f"order{n}.txt"
            order.write_text("" if n % 3 == 0 else f"cider {n}\n")
            orders.append(str(order))
        with Client(n_workers=2, threads_per_worker=1, dashboard_address=None):
            codes = dask.compute(*[label(str(tool), order) for order in orders])
        logging.info("printed %d, empty %d", codes.count(0), codes.count(4))


if __name__ == "__main__":
    main()
