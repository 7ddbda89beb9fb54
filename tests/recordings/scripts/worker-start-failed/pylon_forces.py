"""Forces on the pylons of the overhead lines under tonight's wind forecast.

A general worker builds the load cases; the solver worker, which holds the one
licence of the finite-element package, solves them (resource SOLVER).
"""

import argparse
import logging
import math
import socket
import subprocess
import sys
import tempfile
import time
from concurrent.futures import TimeoutError as FutureTimeout

from dask.utils import format_time
from distributed import Client

log = logging.getLogger("pylon")

LINES = {"east": 14, "west": 11, "coast": 9}
WINDS = [12.0, 18.5, 24.0]


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


def roles(port, scratch):
    """Command line of each worker; the firewall lets one fixed port through."""
    common = [
        "--host",
        "127.0.0.1",
        "--no-nanny",
        "--nthreads",
        "1",
        "--memory-limit",
        "300MB",
        "--dashboard-address",
        "127.0.0.1:0",
        "--worker-port",
        str(port),
        "--local-directory",
        scratch,
    ]
    return {
        "general": [*common, "--resources", "LOADS=4"],
        "solver": [*common, "--resources", "SOLVER=1"],
    }


def dask_cli(cwd, *args):
    return subprocess.Popen([sys.executable, "-m", "dask", *args], cwd=cwd)


def stop(processes):
    for proc in reversed(processes):
        if proc.poll() is None:
            proc.terminate()
    for proc in processes:
        try:
            proc.wait(10)
        except subprocess.TimeoutExpired:
            proc.kill()
            proc.wait()


def load_case(line, spans, wind):
    time.sleep(0.8)
    drag = 0.5 * 1.25 * wind**2 * 1.1
    return {
        "line": line,
        "wind": wind,
        "loads": [drag * (1 + 0.05 * math.sin(n)) for n in range(spans)],
    }


def solve_forces(case):
    time.sleep(0.4)
    stiffness = 8.4e3
    return case["line"], case["wind"], max(f / stiffness for f in case["loads"])


def build_cases(client):
    futures = [
        client.submit(load_case, line, spans, wind)
        for line, spans in LINES.items()
        for wind in WINDS
    ]
    return client.gather(futures)


def solve(client, cases, limit):
    futures = client.map(solve_forces, cases, resources={"SOLVER": 1})
    deadline = time.monotonic() + limit
    results = []
    for future in futures:
        results.append(future.result(timeout=max(0.1, deadline - time.monotonic())))
    return results


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--solve-limit", type=float, default=22)
    args = parser.parse_args()
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(name)s %(message)s")
    scheduler = f"tcp://127.0.0.1:{free_port()}"
    processes = []
    began = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="pylon-") as cwd:
        try:
            processes.append(
                dask_cli(
                    cwd,
                    "scheduler",
                    "--host",
                    "127.0.0.1",
                    "--port",
                    scheduler.rsplit(":", 1)[1],
                    "--dashboard-address",
                    "127.0.0.1:0",
                )
            )
            with Client(scheduler, timeout=60) as client:
                for name, options in roles(free_port(), cwd).items():
                    processes.append(
                        dask_cli(cwd, "worker", scheduler, "--name", name, *options)
                    )
                    client.wait_for_workers(1, timeout=60)
                cases = build_cases(client)
                log.info(
                    "%d load cases after %s",
                    len(cases),
                    format_time(time.monotonic() - began),
                )
                try:
                    worst = max(
                        solve(client, cases, args.solve_limit), key=lambda r: r[2]
                    )
                except (FutureTimeout, TimeoutError):
                    log.error("solver gave no answer within %.0f s", args.solve_limit)
                    sys.exit(3)
                log.info("worst: line %s at %.1f m/s, %.4f", *worst)
        finally:
            stop(processes)


if __name__ == "__main__":
    main()
