"""Two-stage check of rudder castings: porosity first, then the finish.

Each stage gets a cluster of its own (the stages ran on different machines once, and have their own settings).
"""

import copy
import logging
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
from distributed import Client

log = logging.getLogger("castings")

POROSITY = {
    "stage": "porosity",
    "scheduler": {"scheduler-file": "porosity.json"},
    "worker": {
        "scheduler-file": "porosity.json",
        "nthreads": 1,
        "memory-limit": "350MB",
        "death-timeout": 10,
    },
    "workers": 2,
}
FINISH = copy.deepcopy(POROSITY)
FINISH["stage"] = "finish"
FINISH["scheduler"]["scheduler-file"] = "finish.json"
FINISH["worker"]["memory-limit"] = "450MB"


def options(settings):
    for name, value in settings.items():
        yield f"--{name}"
        yield str(value)


class Stage:
    def __init__(self, settings, folder):
        self.settings = settings
        self.folder = folder
        self.running = []

    def spawn(self, what, extra=()):
        arguments = [
            sys.executable,
            "-m",
            "dask",
            what,
            "--no-dashboard",
            *options(self.settings[what]),
            *extra,
        ]
        log_file = (
            self.folder / f"{self.settings['stage']}-{what}-{len(self.running)}.log"
        )
        with open(log_file, "wb") as out:
            self.running.append(
                subprocess.Popen(arguments, cwd=self.folder, stdout=out, stderr=out)
            )

    def start(self):
        self.spawn("scheduler", ["--host", "127.0.0.1", "--port", "0"])
        where = self.folder / self.settings["scheduler"]["scheduler-file"]
        for _ in range(150):
            if where.exists():
                break
            time.sleep(0.1)
        for n in range(self.settings["workers"]):
            self.spawn(
                "worker",
                [
                    "--name",
                    f"{self.settings['stage']}-{n}",
                    "--local-directory",
                    f"space-{n}",
                ],
            )
        self.client = Client(scheduler_file=str(where), timeout=15)
        self.client.wait_for_workers(self.settings["workers"], timeout=22)
        log.info("%s: %d workers", self.settings["stage"], self.settings["workers"])
        return self.client

    def stop(self):
        if hasattr(self, "client"):
            self.client.close()
        for process in reversed(self.running):
            process.terminate()
        for process in self.running:
            try:
                process.wait(6)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()


def porosity(serial):
    scan = np.random.default_rng(serial).random((300, 300))
    return serial, float((scan > 0.995).mean())


def finish(item):
    serial, pores = item
    profile = np.random.default_rng(serial).normal(0, 1 + pores, 5000)
    return serial, float(np.abs(profile).mean())


def main():
    logging.basicConfig(
        level=logging.INFO, format="%(asctime)s %(levelname)s %(message)s"
    )
    with tempfile.TemporaryDirectory(
        prefix="foundry-", ignore_cleanup_errors=True
    ) as name:
        folder = Path(name)
        first = Stage(POROSITY, folder)
        try:
            client = first.start()
            pores = client.gather(client.map(porosity, range(4100, 4130)))
        finally:
            first.stop()
        good = [item for item in pores if item[1] < 0.0055]
        log.info("%d of %d castings go on", len(good), len(pores))

        second = Stage(FINISH, folder)
        try:
            client = second.start()
            roughness = dict(client.gather(client.map(finish, good)))
        finally:
            second.stop()
    Path("castings.txt").write_text(
        "\n".join(f"{k} {v:.3f}" for k, v in roughness.items())
    )


if __name__ == "__main__":
    main()
