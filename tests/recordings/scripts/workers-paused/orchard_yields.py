"""Forecast of the apple harvest per orchard; workers as on the farm server: plain `dask worker`, no nanny."""

import argparse
import logging
import os
import shutil
import socket
import subprocess
import sys
import tempfile

import numpy as np
from distributed import Client, as_completed

log = logging.getLogger("yields")
ORCHARDS = [
    "Altes Land",
    "Bodensee",
    "Suedtirol",
    "Steiermark",
    "Limburg",
    "Kent",
    "Lleida",
    "Wallis",
]


def parse_args(argv=None):
    p = argparse.ArgumentParser(description=__doc__)
    p.add_argument(
        "--budget-mb",
        type=int,
        default=520,
        help="memory that the farm server leaves to us",
    )
    p.add_argument("--workers", type=int, default=2)
    p.add_argument(
        "--patience", type=float, default=25, help="seconds for the whole forecast"
    )
    return p.parse_args(argv)


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


def worker_share(budget_mb, orchards):
    """Each orchard gets the same part of the budget."""
    return f"{budget_mb // len(orchards)}MB"


def launch(args, state):
    port = free_port()
    address = f"tcp://127.0.0.1:{port}"
    share = worker_share(args.budget_mb, ORCHARDS)
    log.info("%d workers of %s", args.workers, share)
    dask = [sys.executable, "-m", "dask"]
    procs = [
        subprocess.Popen(
            dask
            + [
                "scheduler",
                "--host",
                "127.0.0.1",
                "--port",
                str(port),
                "--dashboard-address",
                "127.0.0.1:0",
            ],
            cwd=state,
        )
    ]
    for n in range(args.workers):
        procs.append(
            subprocess.Popen(
                dask
                + [
                    "worker",
                    address,
                    "--name",
                    f"farm-{n}",
                    "--nthreads",
                    "1",
                    "--no-nanny",
                    "--memory-limit",
                    share,
                    "--local-directory",
                    state,
                    "--no-dashboard",
                ],
                cwd=state,
            )
        )
    return address, procs


def bloom_model(orchard, years=25):
    rng = np.random.default_rng(sum(map(ord, orchard)))
    frost = rng.poisson(2.2, size=years)
    warmth = rng.normal(1450, 120, size=years)
    tons = 38 + 0.011 * (warmth - 1450) - 1.9 * frost
    slope = np.polyfit(np.arange(years), tons, 1)
    return orchard, float(np.polyval(slope, years))


def forecast(client, patience):
    futures = client.map(bloom_model, ORCHARDS)
    tons = {}
    for future in as_completed(futures, timeout=patience):
        orchard, value = future.result()
        tons[orchard] = value
        log.info("%s: %.1f t/ha", orchard, value)
    return tons


def stop(procs):
    for p in reversed(procs):
        p.terminate()
    for p in procs:
        try:
            p.wait(6)
        except subprocess.TimeoutExpired:
            p.kill()


def main(argv=None):
    args = parse_args(argv)
    logging.basicConfig(
        level=logging.INFO, format="%(asctime)s %(name)s %(levelname)s %(message)s"
    )
    state = tempfile.mkdtemp(prefix="orchard-")
    procs = []
    try:
        address, procs = launch(args, state)
        with Client(address, timeout=60) as client:
            client.wait_for_workers(args.workers, timeout=25)
            tons = forecast(client, args.patience)
        print(f"{len(tons)} orchards, {np.mean(list(tons.values())):.1f} t/ha")
    finally:
        stop(procs)
        shutil.rmtree(state, ignore_errors=True)


if __name__ == "__main__":
    main()
