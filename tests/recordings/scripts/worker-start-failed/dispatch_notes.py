"""Dispatch notes: nightly totals per depot from the warehouse's note lines.

The job starts its own small Dask cluster with the command line tools, as the container image does it,
gives every worker the site profile through a preload module, and sums note lines per depot.
"""

import argparse
import json
import logging
import pathlib
import random
import socket
import subprocess
import sys
import tempfile
import textwrap

from dask.distributed import Client, as_completed

log = logging.getLogger("dispatch")

PROFILE_MODULE = textwrap.dedent(
    '''
    """Site profile: read once per worker, used by the booking functions."""
    import configparser
    import logging
    import os

    _parser = configparser.ConfigParser()
    _parser.read(os.environ.get("SITE_PROFILE", "site.ini"))
    DEPOTS = [part.strip() for part in _parser["depots"]["active"].split(",")]
    CURRENCY = _parser["booking"]["currency"]


    def dask_setup(worker):
        worker.site_depots = DEPOTS
        logging.getLogger("distributed.worker").info("site profile: %d depots", len(DEPOTS))
    '''
)


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


class CommandCluster:
    """`dask scheduler` and some `dask worker`, stopped together."""

    def __init__(self, folder, workers):
        self.folder = folder
        self.port = free_port()
        self.address = f"tcp://127.0.0.1:{self.port}"
        self.count = workers
        self.processes = []

    def _run(self, *words):
        command = [sys.executable, "-m", "dask", *words]
        log.info("starting: %s", " ".join(words))
        self.processes.append(subprocess.Popen(command, cwd=self.folder))

    def __enter__(self):
        self._run(
            "scheduler",
            "--host",
            "127.0.0.1",
            "--port",
            str(self.port),
            "--no-dashboard",
        )
        for number in range(self.count):
            self._run(
                "worker",
                self.address,
                "--nthreads",
                "1",
                "--memory-limit",
                "300MB",
                "--name",
                f"dispatch-{number}",
                "--no-dashboard",
                "--death-timeout",
                "30",
                "--preload",
                str(self.folder / "site_profile.py"),
            )
        return self

    def __exit__(self, *exc):
        for process in reversed(self.processes):
            if process.poll() is None:
                process.terminate()
        for process in self.processes:
            try:
                process.wait(8)
            except subprocess.TimeoutExpired:
                process.kill()
        log.info("cluster of %d commands stopped", len(self.processes))


def note_total(depot, seed):
    rng = random.Random(seed)
    return depot, round(sum(rng.uniform(4, 90) for _ in range(2000)), 2)


def prepare(folder, site):
    (folder / "site_profile.py").write_text(PROFILE_MODULE)
    sections = [
        "[site]",
        f"name = {site}",
        "",
        "[depot]",
        "active = north, quay, mill",
        "",
        "[booking]",
        "currency = EUR",
    ]
    (folder / "site.ini").write_text("\n".join(sections) + "\n")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--site", default="harbour")
    parser.add_argument("--workers", type=int, default=2)
    options = parser.parse_args()
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(name)s %(message)s")
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        prepare(folder, options.site)
        with CommandCluster(folder, options.workers) as cluster:
            with Client(cluster.address, timeout=20) as client:
                client.wait_for_workers(options.workers, timeout=12)
                jobs = [
                    client.submit(note_total, depot, n)
                    for n, depot in enumerate(["north", "quay", "mill"] * 4)
                ]
                totals = {}
                for future in as_completed(jobs):
                    depot, amount = future.result()
                    totals[depot] = totals.get(depot, 0) + amount
                print(json.dumps(totals, indent=1))


if __name__ == "__main__":
    main()
