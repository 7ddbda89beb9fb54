"""Drayage tickets: price last night's container moves between quay and rail yard.

The port's trucking desk wants one figure per haulier by six in the morning.
A small cluster is brought up for the job with the dask commands, every worker
loads the site's bootstrap file first, and all is taken down again at the end.
"""

import argparse
import json
import logging
import os
import pathlib
import signal
import socket
import subprocess
import sys

from distributed import Client

log = logging.getLogger("drayage")

BOOTSTRAP = '''
"""Site bootstrap for pricing workers: settings and the surcharge table."""
import json
import logging
import pathlib

SETTINGS = {}


def read_settings(path):
    settings = json.loads(pathlib.Path(path).read_text())
    return {
        "currency": settings["currency"],
        "surcharge": settings["surcharges"]["reefer"],
        "fuel": settings["surcharges"]["fuel_index"],
    }


def dask_setup(worker):
    SETTINGS.update(read_settings("site_settings.json"))
    logging.getLogger("bootstrap").info("settings for %s: %s", worker.address, SETTINGS)
'''

SITE = {"currency": "EUR", "surcharges": {"reefer": 41.5, "fuelIndex": 1.08}}


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


class YardCluster:
    """One scheduler and a few workers as commands on this machine."""

    def __init__(self, workers=2):
        self.port = free_port()
        self.workers = workers
        self.procs = []

    @property
    def address(self):
        return f"tcp://127.0.0.1:{self.port}"

    def _spawn(self, *args):
        proc = subprocess.Popen(
            [sys.executable, "-m", "dask", *args], start_new_session=True
        )
        log.info("started %s as %d", args[0], proc.pid)
        self.procs.append(proc)

    def __enter__(self):
        self._spawn(
            "scheduler",
            "--host",
            "127.0.0.1",
            "--port",
            str(self.port),
            "--no-dashboard",
        )
        for n in range(self.workers):
            self._spawn(
                "worker",
                self.address,
                "--name",
                f"yard-{n}",
                "--nthreads",
                "1",
                "--memory-limit",
                "300MB",
                "--no-dashboard",
                "--death-timeout",
                "20",
                "--preload",
                "yard_bootstrap.py",
            )
        return self

    def __exit__(self, *exc):
        for proc in reversed(self.procs):
            try:
                os.killpg(proc.pid, signal.SIGTERM)
            except ProcessLookupError:
                pass
        for proc in self.procs:
            try:
                proc.wait(5)
            except subprocess.TimeoutExpired:
                os.killpg(proc.pid, signal.SIGKILL)


def price_move(move):
    from yard_bootstrap import SETTINGS

    base = 65 + 1.4 * move["km"]
    if move["reefer"]:
        base += SETTINGS["surcharge"]
    return move["haulier"], round(base * SETTINGS["fuel"], 2)


def moves(n):
    hauliers = ["Brandt", "Oksanen", "Vermeer"]
    return [
        {"haulier": hauliers[i % 3], "km": 4 + i % 19, "reefer": i % 5 == 0}
        for i in range(n)
    ]


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--moves", type=int, default=90)
    parser.add_argument("--patience", type=float, default=15)
    args = parser.parse_args()
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(name)s %(message)s")

    pathlib.Path("yard_bootstrap.py").write_text(BOOTSTRAP)
    pathlib.Path("site_settings.json").write_text(json.dumps(SITE))

    with YardCluster() as yard, Client(yard.address, timeout="15s") as client:
        client.wait_for_workers(2, timeout=args.patience)
        totals = {}
        for haulier, amount in client.gather(client.map(price_move, moves(args.moves))):
            totals[haulier] = totals.get(haulier, 0) + amount
        pathlib.Path("tickets.json").write_text(json.dumps(totals, indent=1))
        log.info("priced %d moves", args.moves)


if __name__ == "__main__":
    main()
