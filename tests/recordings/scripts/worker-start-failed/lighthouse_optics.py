"""Recomputes the range tables of the lighthouses on a small command-line cluster."""

import argparse
import json
import logging
import os
import subprocess
import sys
import tempfile
import time

from dask.distributed import Client, get_worker

log = logging.getLogger("optics")

PRELOAD = """
import json, logging, os

def dask_setup(worker):
    home = os.environ["OPTICS_HOME"]
    with open(os.path.join(home, "tables", "lens_table.json")) as handle:
        worker.lens_table = json.load(handle)
    logging.getLogger("distributed.worker").info("lens table of %d orders", len(worker.lens_table))
"""


def deploy(base):
    """Unpacks the optics release and the preload script for the workers."""
    home = os.path.join(base, "optics-4.2")
    os.makedirs(os.path.join(home, "tables"))
    with open(os.path.join(home, "tables", "lens-table-v4.json"), "w") as out:
        json.dump({str(order): 920 / (order + 1) for order in range(1, 9)}, out)
    preload = os.path.join(base, "load_lenses.py")
    with open(preload, "w") as out:
        out.write(PRELOAD)
    return home, preload


class Site:
    """Scheduler and workers as our systemd units start them."""

    def __init__(self, base, env):
        self.base, self.env, self.processes = base, env, []
        self.scheduler_file = os.path.join(base, "scheduler.json")

    def dask(self, *words):
        self.processes.append(
            subprocess.Popen(
                [sys.executable, "-m", "dask", *words], env=self.env, cwd=self.base
            )
        )

    def start(self, workers, preload):
        self.dask(
            "scheduler",
            "--host",
            "127.0.0.1",
            "--port",
            "0",
            "--dashboard-address",
            "127.0.0.1:0",
            "--scheduler-file",
            self.scheduler_file,
        )
        for number in range(workers):
            self.dask(
                "worker",
                "--scheduler-file",
                self.scheduler_file,
                "--name",
                f"lamp-{number}",
                "--nthreads",
                "1",
                "--memory-limit",
                "250MiB",
                "--local-directory",
                self.base,
                "--host",
                "127.0.0.1",
                "--preload",
                preload,
            )

    def stop(self):
        for process in reversed(self.processes):
            process.terminate()
        for process in self.processes:
            try:
                process.wait(10)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()


def nominal_range(order, candela):
    time.sleep(0.2)
    focal = get_worker().lens_table[str(order)]
    return order, round((candela / 1000.0) ** 0.5 * focal / 100, 2)


def parse_args():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--patience", type=float, default=20.0)
    return parser.parse_args()


def main():
    args = parse_args()
    logging.basicConfig(
        level=logging.INFO, format="%(asctime)s %(levelname)s %(name)s: %(message)s"
    )
    with tempfile.TemporaryDirectory(prefix="optics-") as base:
        home, preload = deploy(base)
        site = Site(base, dict(os.environ, OPTICS_HOME=home))
        site.start(args.workers, preload)
        try:
            with Client(scheduler_file=site.scheduler_file, timeout=20) as client:
                log.info("connected, waiting for %d workers", args.workers)
                client.wait_for_workers(args.workers, timeout=args.patience)
                futures = client.map(
                    nominal_range, range(1, 9), [50_000 * n for n in range(1, 9)]
                )
                for order, miles in client.gather(futures):
                    log.info("order %d: %.2f nautical miles", order, miles)
        finally:
            site.stop()
    return 0


if __name__ == "__main__":
    sys.exit(main())
