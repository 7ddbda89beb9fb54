"""Frost hours of icewine plots on a cluster of command-line schedulers and workers.

A smoke test brings a scheduler up and down first (the site's checklist asks for it).
"""

import argparse
import logging
import os
import random
import shutil
import subprocess
import sys
import tempfile
import time

from distributed import Client

log = logging.getLogger("frost")
DASK = [sys.executable, "-m", "dask"]


class Site:
    """Where the cluster keeps its contact files, and the processes it has started."""

    def __init__(self, folder):
        self.folder = folder
        self.current = os.path.join(folder, "current.json")
        self.running = []

    def scheduler(self, label):
        contact = os.path.join(self.folder, f"scheduler-{label}.json")
        process = subprocess.Popen(
            [
                *DASK,
                "scheduler",
                "--host",
                "127.0.0.1",
                "--port",
                "0",
                "--dashboard-address",
                "127.0.0.1:0",
                "--scheduler-file",
                contact,
            ]
        )
        self.running.append(process)
        deadline = time.time() + 60
        while not os.path.exists(contact):
            if process.poll() is not None or time.time() > deadline:
                raise RuntimeError(f"scheduler '{label}' did not come up")
            time.sleep(0.2)
        time.sleep(0.3)
        if not os.path.exists(self.current):
            shutil.copy(contact, self.current)
        return process, contact

    def workers(self, count):
        for number in range(count):
            self.running.append(
                subprocess.Popen(
                    [
                        *DASK,
                        "worker",
                        "--scheduler-file",
                        self.current,
                        "--nthreads",
                        "1",
                        "--no-nanny",
                        "--no-dashboard",
                        "--name",
                        f"plot-{number}",
                        "--memory-limit",
                        "250MiB",
                        "--local-directory",
                        self.folder,
                    ]
                )
            )

    def stop(self, process):
        process.terminate()
        process.wait(20)
        self.running.remove(process)

    def close(self):
        for process in self.running:
            process.terminate()
        for process in self.running:
            try:
                process.wait(15)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()


def frost_hours(plot, nights):
    rng = random.Random(plot)
    hours = 0
    for _ in range(nights * 12):
        hours += rng.gauss(2.5, 2.0) < 0
    return plot, hours


def smoke_test(site):
    process, contact = site.scheduler("smoke")
    with Client(scheduler_file=contact, timeout=60) as client:
        versions = client.run_on_scheduler(lambda: sys.version.split()[0])
        log.info("smoke test passed, scheduler runs Python %s", versions)
    site.stop(process)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--plots", type=int, default=40)
    parser.add_argument("--nights", type=int, default=60)
    parser.add_argument("--workers", type=int, default=2)
    args = parser.parse_args()
    logging.basicConfig(
        level=logging.INFO, format="%(asctime)s %(name)s %(levelname)s %(message)s"
    )

    with tempfile.TemporaryDirectory(prefix="icewine-") as folder:
        site = Site(folder)
        try:
            smoke_test(site)
            _, contact = site.scheduler("night")
            site.workers(args.workers)
            with Client(scheduler_file=contact, timeout=60) as client:
                log.info(
                    "scheduler at %s, waiting for %d workers",
                    client.scheduler.address,
                    args.workers,
                )
                client.wait_for_workers(args.workers, timeout=25)
                hours = dict(
                    client.gather(
                        client.map(frost_hours, range(args.plots), nights=args.nights)
                    )
                )
                worst = max(hours, key=hours.get)
                log.info("plot %d had %d frost hours", worst, hours[worst])
        finally:
            site.close()
    return 0


if __name__ == "__main__":
    sys.exit(main())
