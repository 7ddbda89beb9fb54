"""Plumes of the stacks of an industrial estate, hour by hour, for two pollutants.

Each pollutant is a campaign on a fresh cluster. A campaign may not hold the machine for ever, so a watch ends its
cluster when the time booked for it is over.
"""

import logging
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

import numpy as np
from distributed import Client

log = logging.getLogger("plumes")

CAMPAIGNS = {"so2": {"hours": 10, "stacks": 3}, "pm10": {"hours": 54, "stacks": 5}}


class Machine:
    """The cluster of the estate's compute box; one campaign at a time."""

    def __init__(self, folder, booked):
        self.folder = Path(folder)
        self.booked = booked
        self.scheduler = None
        self.workers = []

    def _run(self, name, *args):
        with open(self.folder / f"{name}.log", "w") as out:
            return subprocess.Popen(
                [sys.executable, "-m", "dask", *args], stdout=out, stderr=out
            )

    def up(self, campaign):
        where = self.folder / f"{campaign}.json"
        self.scheduler = self._run(
            f"{campaign}-scheduler",
            "scheduler",
            "--host",
            "127.0.0.1",
            "--port",
            "0",
            "--no-dashboard",
            "--scheduler-file",
            str(where),
        )
        while not where.exists():
            time.sleep(0.1)
        self.workers = [
            self._run(
                f"{campaign}-worker{n}",
                "worker",
                "--scheduler-file",
                str(where),
                "--nthreads",
                "1",
                "--memory-limit",
                "400MB",
                "--no-dashboard",
                "--local-directory",
                str(self.folder / f"w{n}"),
            )
            for n in range(2)
        ]
        watch = threading.Timer(self.booked, self.end_of_booking)
        watch.daemon = True
        watch.start()
        client = Client(scheduler_file=str(where), timeout=20)
        client.wait_for_workers(2, timeout=30)
        return client

    def end_of_booking(self):
        if self.scheduler is not None:
            self.scheduler.terminate()

    def down(self):
        processes, self.scheduler, self.workers = (
            [*self.workers, self.scheduler],
            None,
            [],
        )
        for process in processes:
            process.terminate()
        for process in processes:
            try:
                process.wait(8)
            except subprocess.TimeoutExpired:
                process.kill()


def disperse(hour, stacks):
    rng = np.random.default_rng(hour)
    grid = np.zeros((120, 120))
    y, x = np.mgrid[:120, :120]
    for _ in range(stacks):
        cx, cy = rng.uniform(20, 100, 2)
        grid += rng.uniform(1, 9) * np.exp(
            -((x - cx) ** 2 + (y - cy) ** 2) / rng.uniform(80, 400)
        )
    time.sleep(0.9 if stacks > 4 else 0.2)
    return hour, grid


def exceedance(result, limit=6.0):
    hour, grid = result
    return hour, float((grid > limit).mean())


def campaign(machine, name, hours, stacks):
    client = machine.up(name)
    try:
        grids = [
            client.submit(disperse, h, stacks, key=f"disperse-{name}-{h:02d}")
            for h in range(hours)
        ]
        shares = [
            client.submit(exceedance, g, key=f"exceedance-{name}-{h:02d}")
            for h, g in enumerate(grids)
        ]
        result = client.gather(shares)
        log.info(
            "%s: %d hours, worst %.3f", name, len(result), max(s for _, s in result)
        )
        return dict(result)
    finally:
        client.close(timeout=2)
        machine.down()


def main():
    logging.basicConfig(
        level=logging.INFO, format="%(asctime)s %(levelname)s %(message)s"
    )
    with tempfile.TemporaryDirectory(
        prefix="plumes-", ignore_cleanup_errors=True
    ) as folder:
        machine = Machine(folder, booked=24.0)
        worst = {}
        for name, settings in CAMPAIGNS.items():
            worst[name] = campaign(machine, name, **settings)
    Path("plumes.txt").write_text(repr(worst))


if __name__ == "__main__":
    main()
