"""Counts cormorant nests on the drone photographs, on cheap machines.

The workers are started on the command line, and the cheap ones may be
reclaimed by their host at any time.  The job is built for that: pieces are
small, a replacement is ordered, flaky photographs are asked for again.
"""

import argparse
import contextlib
import logging
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
from distributed import Client, as_completed

log = logging.getLogger("cormorants")

COLONIES = ["texel", "gotland", "danube", "farne"]
PHOTOS = 8


class Blurred(RuntimeError):
    """This picture cannot be counted."""


def photograph(folder, colony, number):
    """The photo server drops the first request for every fifth picture."""
    seen = Path(folder) / f"{colony}-{number}.seen"
    if number % 5 == 4 and not seen.exists():
        seen.touch()
        raise ConnectionResetError(f"photo server closed on {colony}-{number}")
    rng = np.random.default_rng(number + len(colony))
    return rng.random((400, 400))


def count_nests(folder, colony, number):
    picture = photograph(folder, colony, number)
    time.sleep(0.6)
    if colony == "farne" and number == 3:
        raise Blurred(f"{colony}-{number}: contrast 0.02")
    return int((picture > 0.9995).sum())


class Machines:
    """The rented command-line processes of this night."""

    def __init__(self, folder):
        self.folder = Path(folder)
        self.running = {}
        self.start(
            "scheduler",
            "--host",
            "127.0.0.1",
            "--port",
            "0",
            "--no-show",
            "--dashboard-address",
            "127.0.0.1:0",
        )

    def start(self, kind, *args, name=None):
        command = [
            sys.executable,
            "-m",
            "dask",
            kind,
            "--scheduler-file",
            str(self.folder / "scheduler.json"),
            *args,
        ]
        if name:
            command += ["--name", name]
        self.running[name or kind] = subprocess.Popen(command)

    def rent(self, name):
        self.start(
            "worker",
            "--nthreads",
            "1",
            "--memory-limit",
            "250MiB",
            "--no-dashboard",
            "--local-directory",
            str(self.folder),
            "--death-timeout",
            "60",
            name=name,
        )

    def reclaim(self, name):
        log.warning("host takes %s back", name)
        self.running[name].send_signal(signal.SIGTERM)

    def stop(self):
        for process in reversed(list(self.running.values())):
            with contextlib.suppress(ProcessLookupError):
                process.terminate()
        for process in self.running.values():
            try:
                process.wait(20)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()


def survey(client, machines, folder):
    jobs = [(colony, n) for colony in COLONIES for n in range(PHOTOS)]
    futures = {
        client.submit(
            count_nests, folder, c, n, key=f"count_nests-{c}-{n}", retries=2
        ): (c, n)
        for c, n in jobs
    }
    totals, skipped = dict.fromkeys(COLONIES, 0), []
    for done, future in enumerate(as_completed(futures), start=1):
        colony, number = futures[future]
        try:
            totals[colony] += future.result()
        except Blurred as exc:
            log.warning("left out: %s", exc)
            skipped.append((colony, number))
        if done == 6:
            machines.reclaim("spot-1")
            machines.rent("spot-3")
    return totals, skipped


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--may-skip", type=int, default=2)
    args = parser.parse_args()
    logging.basicConfig(
        level=logging.INFO, format="%(asctime)s %(levelname)s %(message)s"
    )
    with tempfile.TemporaryDirectory(
        prefix="nests-", ignore_cleanup_errors=True
    ) as folder:
        machines = Machines(folder)
        try:
            for name in ("spot-1", "spot-2"):
                machines.rent(name)
            with Client(
                scheduler_file=str(machines.folder / "scheduler.json"), timeout=60
            ) as client:
                client.wait_for_workers(2, timeout=90)
                totals, skipped = survey(client, machines, folder)
        finally:
            machines.stop()
    for colony, nests in totals.items():
        log.info("%-8s %4d nests", colony, nests)
    if len(skipped) > args.may_skip:
        log.error("%d pictures left out, %d allowed", len(skipped), args.may_skip)
        return 1
    log.info("survey complete, %d left out", len(skipped))
    return 0


if __name__ == "__main__":
    sys.exit(main())
