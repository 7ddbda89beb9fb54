"""Tremor energy of the stations around a volcano, on a cluster started from the command line."""

import logging
import math
import os
import random
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

from dask.distributed import Client

logging.basicConfig(
    level=logging.INFO, format="%(asctime)s %(levelname)s %(name)s %(message)s"
)
log = logging.getLogger("volcano_tremors")

STATIONS = ["ESLN", "EBEL", "ECPN", "EMFO", "EPLC"]
START_LIMIT = 34


class Cluster:
    """Scheduler and worker of this host, found through a file."""

    def __init__(self, workspace):
        self.file = workspace / "run" / "scheduler.json"
        self.processes = []

    def spawn(self, *arguments):
        environment = {**os.environ, "DASK_DISTRIBUTED__COMM__TIMEOUTS__CONNECT": "20s"}
        self.processes.append(
            subprocess.Popen(
                [sys.executable, "-m", "dask", *arguments], env=environment
            )
        )

    def __enter__(self):
        self.spawn(
            "scheduler",
            "--host",
            "127.0.0.1",
            "--port",
            "0",
            "--no-dashboard",
            "--scheduler-file",
            str(self.file),
        )
        self.spawn(
            "worker",
            "--scheduler-file",
            str(self.file),
            "--nthreads",
            "2",
            "--no-nanny",
            "--no-dashboard",
        )
        return self

    def __exit__(self, *exc_info):
        for process in reversed(self.processes):
            process.terminate()
        for process in self.processes:
            try:
                process.wait(10)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()


def give_up(signum, frame):
    raise TimeoutError(f"no cluster after {START_LIMIT} s")


def trace(station):
    rng = random.Random(station)
    return [math.sin(n / 7) * rng.gauss(1, 0.2) for n in range(4000)]


def energy(station):
    return station, sum(v * v for v in trace(station))


def main():
    with tempfile.TemporaryDirectory(prefix="volcano-") as tmp:
        workspace = Path(tmp)
        (workspace / "out").mkdir()
        with Cluster(workspace) as cluster:
            signal.signal(signal.SIGALRM, give_up)
            signal.alarm(START_LIMIT)
            client = Client(scheduler_file=str(cluster.file))
            client.wait_for_workers(1)
            signal.alarm(0)
            with client:
                for station, value in client.gather(client.map(energy, STATIONS)):
                    log.info("%s %.1f", station, value)
    return 0


if __name__ == "__main__":
    sys.exit(main())
