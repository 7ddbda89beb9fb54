"""Pump curves of the water works, recomputed every evening.

The workers run the works' own start-up module (it opens the calibration of the site), so they are started
with ``dask worker --preload``.  Scheduler and workers write their logs into the folder of the evening.
"""

import argparse
import os
import subprocess
import sys
import tempfile
import textwrap
import time
from pathlib import Path

import numpy as np
from dask.distributed import Client

STARTUP = textwrap.dedent(
    '''
    """Start-up of a worker: calibration of the site."""
    import json
    import os
    from pathlib import Path

    SITES = Path(__file__).with_name("sites.json")


    def read_calibration():
        sites = json.loads(SITES.read_text())
        site = os.environ.get("WATERWORKS_SITE", "weir-3")
        return sites[site]


    CALIBRATION = read_calibration()


    async def dask_setup(worker):
        worker.calibration = CALIBRATION
    '''
)
SITES = (
    '{"weir-1": {"gain": 1.02, "offset": 0.4}, "weir-2": {"gain": 0.98, "offset": 0.1}}'
)


def pump_curve(pump, speeds):
    from distributed import get_worker

    calibration = get_worker().calibration
    flow = np.array(speeds) * calibration["gain"] + calibration["offset"]
    return pump, np.polyfit(speeds, flow**2, 2).round(4).tolist()


class Evening:
    def __init__(self, folder, workers):
        self.folder = Path(folder)
        self.workers = workers
        self.children = []
        (self.folder / "site_startup.py").write_text(STARTUP)
        (self.folder / "sites.json").write_text(SITES)

    def child(self, name, *args):
        log = (self.folder / f"{name}.log").open("w")
        env = dict(os.environ, DASK_DISTRIBUTED__WORKER__MEMORY__TERMINATE="0.95")
        self.children.append(
            subprocess.Popen(
                [sys.executable, "-m", "dask", *args], stdout=log, stderr=log, env=env
            )
        )

    def start(self):
        where = self.folder / "scheduler.json"
        self.child(
            "scheduler",
            "scheduler",
            "--host",
            "127.0.0.1",
            "--port",
            "0",
            "--no-dashboard",
            "--scheduler-file",
            str(where),
        )
        for _ in range(200):
            if where.exists():
                break
            time.sleep(0.1)
        for i in range(self.workers):
            self.child(
                f"worker-{i}",
                "worker",
                "--scheduler-file",
                str(where),
                "--nthreads",
                "1",
                "--name",
                f"pump-{i}",
                "--memory-limit",
                "350MB",
                "--no-dashboard",
                "--local-directory",
                str(self.folder),
                "--preload",
                str(self.folder / "site_startup.py"),
            )
        return Client(scheduler_file=str(where))

    def stop(self):
        for child in reversed(self.children):
            if child.poll() is None:
                child.terminate()
        for child in self.children:
            try:
                child.wait(5)
            except subprocess.TimeoutExpired:
                child.kill()


def main(argv=None):
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--pumps", type=int, default=8)
    parser.add_argument("--patience", type=float, default=14)
    args = parser.parse_args(argv)
    with tempfile.TemporaryDirectory() as folder:
        evening = Evening(folder, workers=2)
        client = evening.start()
        try:
            client.wait_for_workers(2, timeout=args.patience)
            futures = client.map(
                pump_curve, range(args.pumps), speeds=[600, 900, 1200, 1500]
            )
            for pump, curve in client.gather(futures):
                print(f"pump {pump}: {curve}")
        finally:
            client.close()
            evening.stop()


if __name__ == "__main__":
    main()
