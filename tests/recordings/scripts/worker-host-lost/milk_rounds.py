"""Milk rounds: overnight planning of the delivery vans.

Runs on "racks": each rack is a dask worker command in a session of its own,
as on the depot's machines.  Racks are handed back to the depot at a fixed
time, whoever uses them.
"""

import itertools
import logging
import os
import signal
import subprocess
import sys
import threading
import time

import numpy as np
from distributed import Client

log = logging.getLogger("rounds")


class RackCluster:
    def __init__(self, racks):
        self.racks = racks
        self.procs = {}

    def _start(self, module, *args, **env):
        command = [sys.executable, "-m", f"distributed.cli.{module}", *args]
        out = open(f"{env.pop('log')}.log", "w")
        return subprocess.Popen(
            command,
            stdout=out,
            stderr=subprocess.STDOUT,
            start_new_session=True,
            env={**os.environ, **env},
        )

    def __enter__(self):
        self.procs["scheduler"] = self._start(
            "dask_scheduler",
            "--host",
            "127.0.0.1",
            "--port",
            "0",
            "--no-dashboard",
            "--scheduler-file",
            "rounds.json",
            log="scheduler",
            DASK_DISTRIBUTED__SCHEDULER__ALLOWED_FAILURES="0",
        )
        while not os.path.exists("rounds.json"):
            time.sleep(0.1)
        for rack in self.racks:
            self.procs[rack] = self._start(
                "dask_worker",
                "--scheduler-file",
                "rounds.json",
                "--name",
                rack,
                "--nthreads",
                "1",
                "--memory-limit",
                "300MB",
                "--no-dashboard",
                log=rack,
            )
        return self

    def hand_back(self, rack):
        log.info("depot takes %s", rack)
        os.killpg(self.procs[rack].pid, signal.SIGKILL)

    def __exit__(self, *exc):
        for proc in self.procs.values():
            try:
                os.killpg(proc.pid, signal.SIGTERM)
            except ProcessLookupError:
                pass
        for proc in self.procs.values():
            try:
                proc.wait(10)
            except subprocess.TimeoutExpired:
                os.killpg(proc.pid, signal.SIGKILL)


def stops_of(van, n=60):
    rng = np.random.default_rng(van)
    return rng.uniform(0, 20, (n, 2))


def plan_round(stops, seconds):
    """Two-opt until the time is used up."""
    order = list(range(len(stops)))
    length = lambda o: float(np.linalg.norm(np.diff(stops[o], axis=0), axis=1).sum())
    best, end = length(order), time.monotonic() + seconds
    for i, j in itertools.cycle(itertools.combinations(range(1, len(stops)), 2)):
        if time.monotonic() > end:
            return best
        trial = order[:i] + order[i:j][::-1] + order[j:]
        if (new := length(trial)) < best:
            order, best = trial, new


def main():
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(message)s")
    with RackCluster(["rack-a", "rack-b"]) as cluster:
        with Client(scheduler_file="rounds.json") as client:
            client.wait_for_workers(2, timeout=30)
            stops = client.map(stops_of, range(16))
            rounds = client.map(plan_round, stops, seconds=2.5)
            timer = threading.Timer(9.0, cluster.hand_back, ["rack-b"])
            timer.start()
            try:
                kilometres = client.gather(rounds)
            finally:
                timer.cancel()
                client.cancel(rounds)
    print("rounds planned:", len(kilometres), "total", round(sum(kilometres), 1))


if __name__ == "__main__":
    main()
