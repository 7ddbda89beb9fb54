"""Embryo cultures: scores time-lapse frames of the incubators; segmentation goes to the workers with an accelerator."""

import configparser
import io
import logging
import subprocess
import sys
import tempfile
import pathlib

import numpy as np
from distributed import Client, as_completed, wait

logging.basicConfig(level=logging.INFO, format="[%(name)s] %(message)s")
log = logging.getLogger("cultures")

SETTINGS = """
[cluster]
plain = --nthreads 1 --memory-limit 300MB --no-dashboard --name plain
accelerated = --nthreads 1 --memory-limit 400MB --no-dashboard --name accel --resources GPU=1

[segment]
needs = gpu
amount = 1

[run]
dishes = 6
frames = 4
patience = 14
"""


def load_frame(dish, number):
    rng = np.random.default_rng(dish * 100 + number)
    return rng.normal(90, 12, (160, 160)).astype("float32")


def focus_measure(frame):
    return float(np.abs(np.diff(frame, axis=0)).mean())


def segment_cells(frames):
    stack = np.stack(frames)
    return int((stack > np.percentile(stack, 97)).sum())


def grade(cells, focus):
    return "A" if cells > 3000 and min(focus) > 10 else "B"


class Lab:
    def __init__(self, settings, folder):
        self.settings = settings
        self.ticket = folder / "lab.json"
        self.children = []

    def command(self, *words):
        self.children.append(subprocess.Popen([sys.executable, "-m", "dask", *words]))

    def up(self):
        self.command(
            "scheduler",
            "--host",
            "127.0.0.1",
            "--port",
            "0",
            "--no-dashboard",
            "--scheduler-file",
            str(self.ticket),
        )
        for kind in ("plain", "accelerated"):
            self.command(
                "worker",
                "--scheduler-file",
                str(self.ticket),
                *self.settings["cluster"][kind].split(),
            )

    def down(self):
        for child in reversed(self.children):
            child.terminate()
        for child in self.children:
            try:
                child.wait(8)
            except subprocess.TimeoutExpired:
                child.kill()


def main():
    settings = configparser.ConfigParser()
    settings.read_file(io.StringIO(SETTINGS))
    run = settings["run"]
    needs = {settings["segment"]["needs"]: settings["segment"].getfloat("amount")}
    with tempfile.TemporaryDirectory() as folder:
        lab = Lab(settings, pathlib.Path(folder))
        lab.up()
        try:
            with Client(scheduler_file=str(lab.ticket), timeout=20) as client:
                client.wait_for_workers(2, timeout=20)
                grades = {}
                for dish in range(run.getint("dishes")):
                    frames = client.map(
                        load_frame,
                        [dish] * run.getint("frames"),
                        range(run.getint("frames")),
                    )
                    focus = client.map(focus_measure, frames)
                    cells = client.submit(segment_cells, frames, resources=needs)
                    grades[
                        client.submit(grade, cells, focus, key=f"grade-dish-{dish}")
                    ] = dish
                    wait(focus, timeout=20)
                    log.info("dish %d: frames loaded, sharpness known", dish)
                for future in as_completed(grades, timeout=run.getint("patience")):
                    log.info("dish %d grade %s", grades[future], future.result())
        finally:
            lab.down()


if __name__ == "__main__":
    main()
