"""Turret clocks of the diocese, nightly: drift of every clock from its tick recordings, then a winding plan."""

import argparse
import logging
import os
import signal
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

import dask
import numpy as np
from distributed import Client, as_completed

log = logging.getLogger("turret_clocks")

DASK = [sys.executable, "-m", "dask"]


def start(run_dir, name, *args):
    """Start a piece of the cluster and note its pid, as the init script on the old server did."""
    process = subprocess.Popen([*DASK, *args], cwd=run_dir)
    (run_dir / f"{name}.pid").write_text(f"{process.pid}\n")
    return process


def start_cluster(run_dir, workers):
    address = run_dir / "scheduler.json"
    processes = [
        start(
            run_dir,
            "scheduler",
            "scheduler",
            "--host",
            "127.0.0.1",
            "--port",
            "0",
            "--dashboard-address",
            ":0",
            "--scheduler-file",
            str(address),
        )
    ]
    deadline = time.monotonic() + 60
    while not address.exists() and time.monotonic() < deadline:
        time.sleep(0.2)
    for number in range(workers):
        processes.append(
            start(
                run_dir,
                f"worker-{number}",
                "worker",
                "--scheduler-file",
                str(address),
                "--nthreads",
                "1",
                "--memory-limit",
                "300MB",
                "--no-dashboard",
                "--local-directory",
                str(run_dir),
                "--death-timeout",
                "20",
            )
        )
    return address, processes


def stop_cluster(processes):
    for process in reversed(processes):
        if process.poll() is None:
            process.terminate()
    for process in processes:
        try:
            process.wait(timeout=8)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def housekeeping(run_dir, delay):
    """Schedulers of crashed nights used to stay for weeks and hold their port."""
    time.sleep(delay)
    for pid_file in sorted(run_dir.glob("scheduler*.pid")):
        pid = int(pid_file.read_text())
        try:
            os.kill(pid, 0)
        except ProcessLookupError:
            log.info("housekeeping: %s is stale, removing it", pid_file.name)
        else:
            log.info(
                "housekeeping: leftover scheduler, pid %d of %s, sending SIGTERM",
                pid,
                pid_file.name,
            )
            os.kill(pid, signal.SIGTERM)
        pid_file.unlink()


def clock_drift(clock):
    """Seconds per day, by a straight line through one night of ticks."""
    rng = np.random.default_rng(clock)
    ticks = np.cumsum(rng.normal(1.0 + clock * 1e-6, 1e-4, size=20_000))
    time.sleep(1.0)  # recorder of the tower answers slowly
    slope = np.polyfit(np.arange(ticks.size), ticks, 1)[0]
    return {"clock": clock, "drift": float((slope - 1) * 86400)}


def winding_plan(drifts):
    return sorted(drifts, key=lambda d: -abs(d["drift"]))[:5]


def parse_args():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--clocks", type=int, default=80)
    parser.add_argument(
        "--housekeeping-after",
        type=float,
        default=9,
        help="seconds after the first stage starts",
    )
    return parser.parse_args()


def main():
    args = parse_args()
    logging.basicConfig(
        level=logging.INFO, format="%(asctime)s %(name)s %(levelname)s %(message)s"
    )
    dask.config.set({"distributed.comm.timeouts.connect": "10s"})
    with tempfile.TemporaryDirectory(prefix="turret-") as tmp:
        run_dir = Path(tmp)
        (run_dir / "scheduler-old.pid").write_text("4194301\n")
        address, processes = start_cluster(run_dir, 2)
        try:
            with Client(scheduler_file=str(address), timeout=60) as client:
                client.wait_for_workers(2, timeout=60)
                threading.Thread(
                    target=housekeeping,
                    args=(run_dir, args.housekeeping_after),
                    daemon=True,
                ).start()
                drifts = []
                for future in as_completed(client.map(clock_drift, range(args.clocks))):
                    drifts.append(future.result())
                    if len(drifts) % 5 == 0:
                        log.info("%d of %d clocks", len(drifts), args.clocks)
                for row in winding_plan(drifts):
                    log.info("wind clock %(clock)s: %(drift).3f s per day", row)
        finally:
            stop_cluster(processes)
    return 0


if __name__ == "__main__":
    sys.exit(main())
