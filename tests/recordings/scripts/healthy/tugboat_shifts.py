"""Shift plans of the tugboats, with workers that the yard exchanges during the run."""

import argparse
import json
import logging
import os
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from dask.distributed import Client, KilledWorker, as_completed

log = logging.getLogger("tugboats")

BOATS = [f"tug-{n:02d}" for n in range(24)]


class Yard:
    """Scheduler and workers as the command line starts them."""

    def __init__(self, tmp):
        self.tmp = tmp
        self.file = Path(tmp) / "scheduler.json"
        self.procs = {}
        self._start(
            "scheduler",
            [
                "scheduler",
                "--host",
                "127.0.0.1",
                "--port",
                "0",
                "--dashboard-address",
                ":0",
                "--scheduler-file",
                str(self.file),
            ],
        )
        for _ in range(400):
            if self.file.exists() and self.file.stat().st_size:
                break
            time.sleep(0.1)
        self.address = json.loads(self.file.read_text())["address"]

    def _start(self, name, args):
        env = dict(os.environ, DASK_DISTRIBUTED__SCHEDULER__ALLOWED_FAILURES="1")
        self.procs[name] = subprocess.Popen(
            [sys.executable, "-m", "dask", *args], cwd=self.tmp, env=env
        )

    def add_worker(self, name):
        self._start(
            name,
            [
                "worker",
                self.address,
                "--nthreads",
                "1",
                "--memory-limit",
                "300MiB",
                "--name",
                name,
                "--local-directory",
                self.tmp,
                "--dashboard-address",
                ":0",
            ],
        )

    def exchange(self, client, old, new):
        self.add_worker(new)
        client.wait_for_workers(2, timeout=60)
        proc = self.procs.pop(old)
        proc.send_signal(signal.SIGTERM)
        log.warning("%s told to stop, ended with %d", old, proc.wait(20))

    def close(self):
        for proc in reversed(list(self.procs.values())):
            if proc.poll() is None:
                proc.terminate()
                try:
                    proc.wait(15)
                except subprocess.TimeoutExpired:
                    proc.kill()
                    proc.wait()


def tide_window(boat):
    time.sleep(0.7)
    return boat, (sum(map(ord, boat)) % 12, 6)


def canary(library):
    """Does the routing library survive its own self test on this machine?"""
    time.sleep(0.2)
    if library == "router-next":
        os._exit(9)
    return library


def plan_shift(window, router):
    time.sleep(0.4)
    boat, (start, hours) = window
    return f"{boat} {start:02d}+{hours}h by {router}"


def choose_router(client):
    for library in ("router-next", "router-classic"):
        try:
            return client.submit(canary, library, key=f"canary-{library}").result()
        except KilledWorker:
            log.warning("%s fails its self test, next one", library)
    raise SystemExit("no router")


def main(argv=None):
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--boats", type=int, default=len(BOATS))
    args = parser.parse_args(argv)
    logging.basicConfig(
        level=logging.INFO, format="%(asctime)s %(name)s %(levelname)s %(message)s"
    )
    with tempfile.TemporaryDirectory(prefix="tugboats-") as tmp:
        yard = Yard(tmp)
        try:
            yard.add_worker("berth-a")
            with Client(yard.address) as client:
                client.wait_for_workers(1, timeout=60)
                router = choose_router(client)
                log.info("router of the night: %s", router)
                windows = [
                    client.submit(tide_window, b, key=f"tide_window-{b}")
                    for b in BOATS[: args.boats]
                ]
                yard.exchange(client, "berth-a", "berth-b")
                plans = [
                    client.submit(plan_shift, w, router, key=f"plan_shift-{n}")
                    for n, w in enumerate(windows)
                ]
                lines = [future.result() for future in as_completed(plans)]
                log.info("%d shifts planned", len(lines))
                if len(lines) != args.boats:
                    return 2
        finally:
            yard.close()
    return 0


if __name__ == "__main__":
    sys.exit(main())
