"""Score the day's mammograms of a screening programme.

Two workers with one accelerator each are started by the command line, as on the reading station.  Every image is
cropped, scored by two networks, and the two opinions are combined for the images on which they disagree.
"""

import logging
import os
import subprocess
import sys
import tempfile
from pathlib import Path

import dask
import numpy as np
from distributed import Client, TimeoutError, wait

log = logging.getLogger("screening")
SETTINGS = {
    "images": 12,
    "side": 256,
    "accelerators": {"resnet": 1, "densenet": 1, "ensemble": 2},
    "patience": 18,
}


class Station:
    """A scheduler and its workers, each a process of its own."""

    def __init__(self, workers, resources):
        self.folder = Path(tempfile.mkdtemp(prefix="station-"))
        self.file = self.folder / "scheduler.json"
        self.processes = []
        self.workers = workers
        self.resources = resources

    def _start(self, *words):
        out = open(self.folder / f"{words[0]}-{len(self.processes)}.log", "w")
        command = [
            sys.executable,
            "-m",
            "dask",
            *words,
            "--scheduler-file",
            str(self.file),
        ]
        self.processes.append(
            subprocess.Popen(command, stdout=out, stderr=subprocess.STDOUT)
        )

    def __enter__(self):
        self._start("scheduler", "--port", "0", "--host", "127.0.0.1", "--no-dashboard")
        for i in range(self.workers):
            self._start(
                "worker",
                "--nthreads",
                "1",
                "--name",
                f"reader-{i}",
                "--memory-limit",
                "400MB",
                "--no-dashboard",
                "--local-directory",
                str(self.folder),
                "--resources",
                self.resources,
            )
        return self

    def __exit__(self, *exc):
        for p in reversed(self.processes):
            p.terminate()
        for p in self.processes:
            try:
                p.wait(10)
            except subprocess.TimeoutExpired:
                p.kill()


def crop(number, side):
    rng = np.random.default_rng(number)
    image = rng.gamma(2.0, 0.2, (side + 64, side + 64))
    return image[32:-32, 32:-32]


def infer_resnet(image):
    return float(1 / (1 + np.exp(-(image[::2].std() - 0.28) * 400)))


def infer_densenet(image):
    return float(1 / (1 + np.exp(-(image[1::2].std() - 0.28) * 400)))


def combine_opinions(image, a, b):
    if abs(a - b) < 0.1:
        return (a + b) / 2
    return float(np.clip((a * 0.4 + b * 0.6) * image.max() / 4, 0, 1))


def submit_day(client):
    need = SETTINGS["accelerators"]
    scores = []
    for number in range(SETTINGS["images"]):
        image = client.submit(crop, number, SETTINGS["side"])
        a = client.submit(infer_resnet, image, resources={"GPU": need["resnet"]})
        b = client.submit(infer_densenet, image, resources={"GPU": need["densenet"]})
        scores.append(
            client.submit(
                combine_opinions, image, a, b, resources={"GPU": need["ensemble"]}
            )
        )
    return scores


def main():
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(message)s")
    dask.config.set({"distributed.comm.timeouts.connect": "15s"})
    per_worker = os.environ.get("STATION_RESOURCES", "GPU=1")
    with Station(2, per_worker) as station:
        with Client(scheduler_file=str(station.file), timeout=20) as client:
            client.wait_for_workers(2, timeout=20)
            log.info(
                "station is up with %d readers", len(client.scheduler_info()["workers"])
            )
            scores = submit_day(client)
            try:
                wait(scores, timeout=SETTINGS["patience"])
            except TimeoutError:
                finished = sum(f.status == "finished" for f in scores)
                log.error(
                    "radiologists expected the list by now: %d of %d scored",
                    finished,
                    len(scores),
                )
                return 3
            for number, p in enumerate(client.gather(scores)):
                log.info("image %d: %.2f", number, p)
    return 0


if __name__ == "__main__":
    sys.exit(main())
