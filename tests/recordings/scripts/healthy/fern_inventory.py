"""Inventory of a botanical garden's ferns: leaf area from photographs.

The garden lends its office machines after hours: they join one after another while the job is already under way.
"""

import logging
import pathlib
import subprocess
import sys
import threading
import time

import numpy as np
from distributed import Client, as_completed

log = logging.getLogger("ferns")
SPECIES = ["Dryopteris", "Asplenium", "Osmunda", "Polypodium"]


class OfficeMachines:
    def __init__(self, scheduler_file, count, pause):
        self.scheduler_file, self.count, self.pause = scheduler_file, count, pause
        self.procs, self._stop = [], threading.Event()
        self._thread = threading.Thread(target=self._lend, daemon=True)

    def _lend(self):
        for i in range(self.count):
            if self._stop.wait(self.pause):
                return
            self.procs.append(
                subprocess.Popen(
                    [
                        sys.executable,
                        "-m",
                        "dask",
                        "worker",
                        "--scheduler-file",
                        self.scheduler_file,
                        "--nthreads",
                        "1",
                        "--no-dashboard",
                        "--no-nanny",
                        "--name",
                        f"office-{i}",
                    ]
                )
            )
            log.info("office-%d joins", i)

    def __enter__(self):
        self._thread.start()
        return self

    def __exit__(self, *exc):
        self._stop.set()
        self._thread.join()
        for p in self.procs:
            p.terminate()
        for p in self.procs:
            try:
                p.wait(8)
            except subprocess.TimeoutExpired:
                p.kill()


def leaf_area(species, photo):
    rng = np.random.default_rng(photo)
    end = time.perf_counter() + 0.25
    green = 0
    while time.perf_counter() < end:
        green = int((rng.random((250, 250)) > 0.6).sum())
    return species, green


def main():
    logging.basicConfig(level=logging.INFO)
    scheduler = subprocess.Popen(
        [
            sys.executable,
            "-m",
            "dask",
            "scheduler",
            "--host",
            "127.0.0.1",
            "--port",
            "0",
            "--no-dashboard",
            "--scheduler-file",
            "garden.json",
        ]
    )
    try:
        with (
            Client(scheduler_file="garden.json", timeout=20) as client,
            OfficeMachines("garden.json", 3, pause=2.5),
        ):
            futures = [
                client.submit(leaf_area, SPECIES[i % 4], i, key=f"leaf-area-{i}")
                for i in range(60)
            ]
            areas = {}
            for f in as_completed(futures, timeout=50):
                species, green = f.result()
                areas.setdefault(species, []).append(green)
    finally:
        scheduler.terminate()
        scheduler.wait(10)
    lines = [f"{s},{len(a)},{sum(a) / len(a):.1f}" for s, a in sorted(areas.items())]
    pathlib.Path("ferns.csv").write_text("\n".join(lines) + "\n")
    log.info("%d species", len(lines))


if __name__ == "__main__":
    main()
