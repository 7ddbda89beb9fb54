"""Moss inventory of the herbarium; runs against the small scheduler that the botany group keeps on the same host."""

import argparse
import logging
import signal
import subprocess
import sys
import time
import urllib.request

import dask.bag as db
from dask.distributed import Client

log = logging.getLogger("moss")
GENERA = ["Sphagnum", "Polytrichum", "Hypnum", "Bryum", "Tortula"]


class BotanyCluster:
    """Scheduler and worker of the group, brought up when nobody has done so today."""

    def __init__(self, port, web):
        self.port, self.web = port, web
        self.processes = []

    def _run(self, cli, *arguments):
        self.processes.append(
            subprocess.Popen(
                [sys.executable, "-m", f"distributed.cli.{cli}", *arguments],
                stderr=subprocess.DEVNULL,
            )
        )

    def up(self):
        self._run(
            "dask_scheduler",
            "--host",
            "127.0.0.1",
            "--port",
            str(self.port),
            "--dashboard-address",
            f"127.0.0.1:{self.web}",
        )
        self._run(
            "dask_worker",
            f"tcp://127.0.0.1:{self.port}",
            "--nthreads",
            "2",
            "--memory-limit",
            "800MB",
            "--no-dashboard",
        )
        for _ in range(60):
            try:
                with urllib.request.urlopen(
                    f"http://127.0.0.1:{self.web}/health", timeout=2
                ) as answer:
                    if answer.status == 200:
                        log.info("cluster is healthy: %s", answer.read().decode())
                        return self
            except OSError:
                time.sleep(0.5)
        raise SystemExit("botany cluster is not healthy")

    def down(self):
        for process in reversed(self.processes):
            process.terminate()
        for process in self.processes:
            process.wait(15)


def specimen(number):
    return {
        "number": number,
        "genus": GENERA[number * 7 % 5],
        "sheets": 1 + number % 3,
        "loaned": number % 11 == 0,
    }


def too_late(signum, frame):
    raise TimeoutError("inventory not done within its slot of 20 s")


def inventory(address):
    with Client(address, timeout=10) as client:
        log.info("working with %s", client.scheduler.address)
        bag = (
            db.range(5000, npartitions=10)
            .map(specimen)
            .filter(lambda s: not s["loaned"])
        )
        return bag.foldby(
            "genus", lambda total, s: total + s["sheets"], 0, lambda a, b: a + b
        ).compute()


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--port", type=int, default=38811)
    parser.add_argument("--web", type=int, default=38812)
    parser.add_argument(
        "--cluster",
        default="tcp://127.0.0.1:38812",
        help="address from the group's wiki",
    )
    args = parser.parse_args()
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(name)s %(message)s")
    cluster = BotanyCluster(args.port, args.web).up()
    signal.signal(signal.SIGALRM, too_late)
    signal.alarm(20)
    try:
        for genus, sheets in sorted(inventory(args.cluster)):
            print(f"{genus:14s} {sheets}")
    finally:
        cluster.down()


if __name__ == "__main__":
    main()
