"""Normalise laboratory results; workers prepare their unit tables with a preload."""

import subprocess
import sys
import tempfile
from pathlib import Path

from dask.distributed import Client, LocalCluster

PRELOAD = """
import os
import json

TABLE = os.environ["LAB_UNIT_TABLE"]

def dask_setup(worker):
    worker.units = json.loads(open(TABLE).read())
"""


def normalise(value):
    from dask.distributed import get_worker

    return value * get_worker().units["mmol"]


def main():
    with tempfile.TemporaryDirectory() as tmp:
        preload = Path(tmp) / "prepare_units.py"
        preload.write_text(PRELOAD)
        (Path(tmp) / "units.json").write_text('{"mmol": 0.0555}')
        with (
            LocalCluster(n_workers=0, dashboard_address=None) as cluster,
            Client(cluster) as client,
        ):
            proc = subprocess.Popen(
                [
                    sys.executable,
                    "-m",
                    "dask",
                    "worker",
                    cluster.scheduler_address,
                    "--nthreads",
                    "1",
                    "--nworkers",
                    "2",
                    "--no-dashboard",
                    "--preload",
                    str(preload),
                    "--local-directory",
                    tmp,
                ]
            )
            try:
                client.wait_for_workers(2, timeout=12)
                print(client.gather(client.map(normalise, range(20))))
            finally:
                proc.terminate()
                proc.wait(10)


if __name__ == "__main__":
    main()
