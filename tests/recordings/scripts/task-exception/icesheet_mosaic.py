import os
import subprocess
import sys
import tempfile
from pathlib import Path

import dask.array as da
from distributed import Client, get_worker

PRELOAD = """
import json, os

def dask_setup(worker):
    with open(os.path.join(os.environ["GRID_DIR"], "grid_epsg3413.json")) as fh:
        worker.grid = json.load(fh)
"""


def to_metres(block):
    return block * get_worker().grid["res"]


def launch(tmp):
    sf = tmp / "s.json"
    hook = tmp / "grid_setup.py"
    hook.write_text(PRELOAD)
    base = [sys.executable, "-m", "dask"]
    sched = subprocess.Popen(
        base
        + ["scheduler", "--port", "0", "--scheduler-file", str(sf), "--no-dashboard"]
    )
    ws = [
        subprocess.Popen(
            base
            + [
                "worker",
                "--scheduler-file",
                str(sf),
                "--nthreads",
                "1",
                "--memory-limit",
                "400MB",
                "--no-dashboard",
                "--no-nanny",
                "--local-directory",
                str(tmp),
                "--preload",
                str(hook),
            ]
        )
        for _ in range(2)
    ]
    return sf, [sched, *ws]


def main():
    tmp = Path(tempfile.mkdtemp(prefix="ice"))
    os.environ["GRID_DIR"] = str(tmp)
    (tmp / "grid_epsg3031.json").write_text('{"res": 500}')
    sf, procs = launch(tmp)
    try:
        client = Client(scheduler_file=str(sf), timeout=20)
        client.wait_for_workers(2, timeout=18)
        dem = da.random.random((2000, 2000), chunks=(500, 500))
        print("mean elevation", dem.map_blocks(to_metres, dtype="f8").mean().compute())
        client.close()
    finally:
        for p in procs:
            p.terminate()


if __name__ == "__main__":
    main()
