"""Harvest forecasts for rye: a yield model is handed to the workers once, then one county after another is scored.

Workers are exchanged between the counties, so that a patched image comes into use during the night.
"""

import logging
import os
import pathlib
import subprocess
import sys
import tempfile
import time

import numpy as np
from dask.distributed import Client

log = logging.getLogger("rye")
COMMON = ["--nthreads", "1", "--no-dashboard", "--memory-limit", "350MB"]


class Pool:
    """Workers by the command line, exchanged one by one."""

    def __init__(self, folder):
        self.file = os.path.join(folder, "scheduler.json")
        self.processes = {}
        self.scheduler = subprocess.Popen(
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
                self.file,
            ]
        )

    def start(self, name):
        self.processes[name] = subprocess.Popen(
            [
                sys.executable,
                "-m",
                "dask",
                "worker",
                "--scheduler-file",
                self.file,
                "--name",
                name,
                "--no-nanny",
                *COMMON,
            ]
        )

    def stop(self, name):
        process = self.processes.pop(name)
        process.terminate()
        process.wait(20)

    def close(self):
        for name in list(self.processes):
            self.stop(name)
        self.scheduler.terminate()
        self.scheduler.wait(20)


def address_of(client, name, patience=20):
    deadline = time.monotonic() + patience
    while time.monotonic() < deadline:
        for address, info in client.scheduler_info(n_workers=-1)["workers"].items():
            if info["name"] == name:
                return address
        time.sleep(0.2)
    raise RuntimeError(f"worker {name} did not come")


def yield_model():
    rng = np.random.default_rng(77)
    return {"soil": rng.random((400, 200)), "rain": rng.random(200)}


def score_fields(model, county, part):
    time.sleep(0.3)
    fields = np.random.default_rng(part).random((50, 400))
    return (
        float((fields @ model["soil"] @ model["rain"]).mean()) / 1e4 + len(county) / 100
    )


def average(parts):
    return sum(parts) / len(parts)


def score_county(client, model, county):
    parts = [
        client.submit(
            score_fields, model, county, part, key=f"score_fields-{county}-{part}"
        )
        for part in range(6)
    ]
    return client.submit(average, parts, key=f"average-{county}").result(timeout=30)


def exchange(client, pool, old, new, patient):
    """Brings a new worker and takes the old one away."""
    log.info("exchanging %s for %s", old, new)
    pool.start(new)
    address_of(client, new)
    if patient:
        client.retire_workers(names=[old], close_workers=False)
    pool.stop(old)


def night(client, pool):
    pool.start("barn-1")
    first = address_of(client, "barn-1")
    model = client.scatter(yield_model(), workers=[first], hash=False)
    results = {"Emsland": score_county(client, model, "Emsland")}
    exchange(client, pool, "barn-1", "barn-2", patient=True)
    results["Prignitz"] = score_county(client, model, "Prignitz")
    exchange(client, pool, "barn-2", "barn-3", patient=False)
    time.sleep(1.0)
    results["Uckermark"] = score_county(client, model, "Uckermark")
    return results


def main():
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(name)s %(message)s")
    with tempfile.TemporaryDirectory() as folder:
        pool = Pool(folder)
        try:
            with Client(scheduler_file=pool.file, timeout=20) as client:
                for county, value in night(client, pool).items():
                    log.info("%s %.2f t/ha", county, value)
        finally:
            pool.close()
    pathlib.Path("forecast.done").touch()


if __name__ == "__main__":
    main()
