"""Scores customers of an energy shop with the uplift model.

The job brings its own small cluster: one scheduler and two workers, started
with the command line tools as on the servers.  Workers load the model when
they start (`--preload`), so that no task has to.
"""

import contextlib
import json
import pathlib
import socket
import subprocess
import sys
import time

from dask.distributed import Client

PRELOAD = '''
"""Makes the uplift model ready in each worker."""
import json
import pathlib

SETTINGS = json.loads(pathlib.Path("model_settings.json").read_text())
WEIGHTS = [float(weight) for weight in SETTINGS["weights"]]
CUTOFF = SETTINGS["thresholds"]["contact"]


def dask_setup(worker):
    worker.uplift_model = (WEIGHTS, CUTOFF)
'''

# settings as the data scientists delivered them for the December campaign
SETTINGS = {
    "campaign": "2026-12",
    "weights": [0.31, -0.12, 0.07, 0.44],
    "cutoffs": {"contact": 0.35, "gift": 0.6},
}


def score(customers):
    from dask.distributed import get_worker

    weights, cutoff = get_worker().uplift_model
    chosen = 0
    for customer in customers:
        value = sum(
            weight * ((customer * 37 + place * 11) % 100) / 100
            for place, weight in enumerate(weights)
        )
        chosen += value > cutoff
    return chosen


class CommandLineCluster:
    """`dask scheduler` and `dask worker` as child processes."""

    def __init__(self, workers):
        with contextlib.closing(socket.socket()) as probe:
            probe.bind(("127.0.0.1", 0))
            port = probe.getsockname()[1]
        self.address = f"tcp://127.0.0.1:{port}"
        self.port = port
        self.workers = workers
        self.children = []

    def _spawn(self, name, *arguments):
        log = open(pathlib.Path("logs") / f"{name}.log", "wb")
        child = subprocess.Popen(
            [sys.executable, "-m", "dask", *arguments],
            stdout=log,
            stderr=subprocess.STDOUT,
        )
        self.children.append(child)

    def __enter__(self):
        pathlib.Path("logs").mkdir(exist_ok=True)
        self._spawn(
            "scheduler",
            "scheduler",
            "--host",
            "127.0.0.1",
            "--port",
            str(self.port),
            "--no-dashboard",
        )
        time.sleep(1.5)
        for number in range(self.workers):
            self._spawn(
                f"worker_{number}",
                "worker",
                self.address,
                "--nthreads",
                "1",
                "--memory-limit",
                "300MB",
                "--no-dashboard",
                "--name",
                f"uplift-{number}",
                "--preload",
                "load_model.py",
            )
        return self

    def __exit__(self, *_):
        for child in reversed(self.children):
            if child.poll() is None:
                child.terminate()
        for child in self.children:
            with contextlib.suppress(subprocess.TimeoutExpired):
                child.wait(8)
            if child.poll() is None:
                child.kill()


def main():
    pathlib.Path("load_model.py").write_text(PRELOAD)
    pathlib.Path("model_settings.json").write_text(json.dumps(SETTINGS))
    with (
        CommandLineCluster(workers=2) as cluster,
        Client(cluster.address, timeout=15) as client,
    ):
        print("waiting for the workers", flush=True)
        client.wait_for_workers(2, timeout=15)
        batches = [range(begin, begin + 5_000) for begin in range(0, 60_000, 5_000)]
        counts = client.gather(client.map(score, batches))
        print(f"{sum(counts)} customers will get a letter")


if __name__ == "__main__":
    main()
