"""Bathymetry from the survey boat's sonar sweeps; beam forming wants the accelerator slots."""

import logging
import pathlib
import subprocess
import sys
import tempfile

import numpy as np
from dask.distributed import Client, wait

log = logging.getLogger("sonar")
EX_TEMPFAIL = 75


def ping(sweep):
    rng = np.random.default_rng(sweep)
    return rng.normal(size=(64, 256))


def form_beams(sweep):
    return np.abs(np.fft.fft(sweep, axis=0)).max(axis=1)


def depth(beams):
    return float(8 + beams.mean() / 4)


class Cluster:
    def __init__(self, folder):
        self.file = str(pathlib.Path(folder) / "sched.json")
        self.processes = []

    def spawn(self, *args):
        self.processes.append(
            subprocess.Popen([sys.executable, "-m", "dask", *args, "--no-dashboard"])
        )

    def __enter__(self):
        self.spawn(
            "scheduler",
            "--host",
            "127.0.0.1",
            "--port",
            "0",
            "--scheduler-file",
            self.file,
        )
        self.spawn(
            "worker",
            "--scheduler-file",
            self.file,
            "--nthreads",
            "1",
            "--name",
            "cpu-0",
        )
        self.spawn(
            "worker",
            "--scheduler-file",
            self.file,
            "--nthreads",
            "1",
            "--name",
            "acc-0",
            "--resources",
            "ACC=1",
        )
        return self

    def __exit__(self, *exc):
        for process in reversed(self.processes):
            process.terminate()
        for process in self.processes:
            process.wait(15)


def survey(client, sweeps):
    pings = client.map(ping, range(sweeps))
    beams = client.map(form_beams, pings, resources={"ACC": 2})
    depths = client.map(depth, beams)
    try:
        wait(depths, timeout=10)
    except TimeoutError:
        left = sum(not f.done() for f in depths)
        log.error(
            "%d of %d sweeps are not finished, the next night has to take them",
            left,
            sweeps,
        )
        return EX_TEMPFAIL
    print("mean depth", round(float(np.mean(client.gather(depths))), 2))
    return 0


def main():
    logging.basicConfig(level=logging.INFO)
    with tempfile.TemporaryDirectory() as folder, Cluster(folder) as cluster:
        with Client(scheduler_file=cluster.file, timeout=20) as client:
            client.wait_for_workers(2, timeout=20)
            return survey(client, 12)


if __name__ == "__main__":
    sys.exit(main())
