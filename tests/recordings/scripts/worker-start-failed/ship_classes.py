"""Vessel tracks on command-line workers that a preload script sets up."""

import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from dask.distributed import Client

PRELOAD = """
import json, pathlib

def dask_setup(worker):
    path = pathlib.Path(__file__).with_name("classes.json")
    classes = json.loads(path.read_text())
    worker.vessel_classes = {int(k): v for k, v in classes.items()}
"""


def classify(mmsi):
    from dask.distributed import get_worker

    return get_worker().vessel_classes[mmsi % 4]


def main():
    processes = []
    with tempfile.TemporaryDirectory() as tmp:
        folder = Path(tmp)
        (folder / "ships.py").write_text(PRELOAD)
        classes = json.dumps({n: n for n in ["0", "1", "2", "3"]})
        (folder / "classes.json").write_text(classes[:-4])
        info = folder / "scheduler.json"
        dask = [sys.executable, "-m", "dask"]
        common = ["--scheduler-file", str(info), "--no-dashboard"]
        try:
            processes.append(
                subprocess.Popen(dask + ["scheduler", "--port", "0"] + common)
            )
            while not info.exists():
                time.sleep(0.2)
            processes.append(
                subprocess.Popen(
                    dask
                    + ["worker", "--nthreads", "2"]
                    + common
                    + ["--preload", str(folder / "ships.py")]
                )
            )
            with Client(scheduler_file=str(info), timeout=20) as client:
                client.wait_for_workers(1, timeout=30)
                print(client.gather(client.map(classify, range(2000, 2040))))
        finally:
            for process in reversed(processes):
                process.terminate()
                process.wait(20)


if __name__ == "__main__":
    main()
