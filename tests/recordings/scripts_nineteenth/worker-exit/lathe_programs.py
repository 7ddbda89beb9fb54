"""Simulates the turning programs of the week before they go to the lathes."""

import argparse
import logging
import os
import sys
import threading
import time

import dask
import numpy as np
from dask.distributed import Client, LocalCluster, WorkerPlugin, as_completed

log = logging.getLogger("lathe_programs")

PROGRAMS = {
    "bushing-20": 1.0,
    "bushing-24": 1.2,
    "collar-08": 0.8,
    "flange-110": 2.0,
    "hub-31": 1.5,
    "mandrel-5": 1.0,
    "nozzle-02": 2.5,
    "pulley-77": 1.5,
    "rotor-400": 16.0,
    "shaft-12": 1.8,
    "sleeve-6": 0.9,
    "spindle-33": 3.0,
}


class KernelLease(WorkerPlugin):
    """Keeps the lease of the geometry kernel, one per worker.

    The vendor wants a process to go away when it does not renew any more, so that the
    lease is free for somebody else. Each step of a task renews.
    """

    name = "kernel-lease"

    def __init__(self, seconds):
        self.seconds = seconds

    def setup(self, worker):
        self.worker = worker
        self.renewed = None
        threading.Thread(target=self.watch, name="kernel-lease", daemon=True).start()

    def transition(self, key, start, finish, **kwargs):
        self.renewed = time.monotonic() if finish == "executing" else None

    def watch(self):
        while True:
            time.sleep(0.25)
            renewed = self.renewed
            if renewed is not None and time.monotonic() - renewed > self.seconds:
                sys.stderr.write(
                    f"kernel-lease: not renewed for {self.seconds} s, giving the lease back\n"
                )
                sys.stderr.flush()
                os._exit(75)


def tool_path(name, n=20_000):
    rng = np.random.default_rng(len(name))
    return np.cumsum(rng.normal(0, 0.01, (n, 2)), axis=0)


def simulate_cut(name, seconds):
    """Moves the tool along the path and looks for collisions with the chuck."""
    path = tool_path(name)
    end = time.monotonic() + seconds
    closest = np.inf
    while time.monotonic() < end:
        closest = min(closest, float(np.hypot(path[:, 0] - 9, path[:, 1]).min()))
        time.sleep(0.02)
    return {"program": name, "clearance": round(closest, 3)}


def run(client, programs):
    futures = [
        client.submit(simulate_cut, name, s, key=f"simulate_cut-{name}")
        for name, s in programs.items()
    ]
    rows = []
    for future in as_completed(futures):
        row = future.result()
        log.info("%(program)s: clearance %(clearance).3f mm", row)
        rows.append(row)
    return rows


def main():
    ap = argparse.ArgumentParser(description=__doc__)
    ap.add_argument("--lease", type=float, default=6.0)
    args = ap.parse_args()
    logging.basicConfig(
        level=logging.INFO, format="%(asctime)s %(levelname)s %(message)s"
    )
    dask.config.set({"distributed.scheduler.allowed-failures": 1})

    with LocalCluster(
        n_workers=2, threads_per_worker=1, memory_limit="250MiB", dashboard_address=":0"
    ) as cluster:
        with Client(cluster) as client:
            client.register_plugin(KernelLease(args.lease))
            rows = run(client, PROGRAMS)
            tight = [r["program"] for r in rows if r["clearance"] < 0.5]
            log.info(
                "%d programs simulated, tight: %s",
                len(rows),
                ", ".join(tight) or "none",
            )
    return 0


if __name__ == "__main__":
    sys.exit(main())
