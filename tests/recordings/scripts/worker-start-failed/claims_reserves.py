"""Reserves for open insurance claims, by chain ladder, quarter by quarter.

Brings its own scheduler and workers. Each worker loads the actuarial settings
through a preload module before it takes work.
"""

import json
import logging
import os
import signal
import subprocess
import sys
import textwrap
from pathlib import Path

import numpy as np
from distributed import Client

log = logging.getLogger("reserves")

PRELOAD = textwrap.dedent(
    '''
    """Actuarial settings of a worker."""
    import json
    import pathlib

    here = pathlib.Path(__file__).parent
    loaded = json.loads((here / "actuarial.json").read_text())
    SETTINGS = {"discount": float(loaded["discount_rate"]), "tail": float(loaded["tail_factor"])}


    def dask_setup(worker):
        worker.actuarial = SETTINGS
    '''
)


def write_site(folder):
    folder.mkdir(exist_ok=True)
    (folder / "actuarial_preload.py").write_text(PRELOAD)
    settings = {"discountRate": 0.021, "tail_factor": 1.04, "valid_from": "2026-10-01"}
    (folder / "actuarial.json").write_text(json.dumps(settings, indent=2))


def launch(folder):
    env = dict(os.environ, PYTHONUNBUFFERED="1")
    base = [sys.executable, "-m", "dask"]
    address = folder / "scheduler.json"
    procs = [
        subprocess.Popen(
            [
                *base,
                "scheduler",
                "--host",
                "127.0.0.1",
                "--port",
                "0",
                "--no-dashboard",
                "--scheduler-file",
                str(address),
            ],
            env=env,
        )
    ]
    for i in range(2):
        procs.append(
            subprocess.Popen(
                [
                    *base,
                    "worker",
                    "--scheduler-file",
                    str(address),
                    "--nthreads",
                    "1",
                    "--no-nanny",
                    "--no-dashboard",
                    "--memory-limit",
                    "250MB",
                    "--name",
                    f"actuary-{i}",
                    "--preload",
                    str(folder / "actuarial_preload.py"),
                ],
                env=env,
            )
        )
    return address, procs


def shut_down(procs):
    for proc in reversed(procs):
        if proc.poll() is None:
            proc.send_signal(signal.SIGTERM)
    for proc in procs:
        try:
            proc.wait(8)
        except subprocess.TimeoutExpired:
            proc.kill()


def triangle(quarter):
    rng = np.random.default_rng(quarter)
    return np.cumsum(rng.gamma(2.0, 100.0, size=(8, 8)), axis=1)


def reserve(tri):
    factors = tri[:, 1:].sum(axis=0) / tri[:, :-1].sum(axis=0)
    return float(tri[-1, 0] * np.prod(factors) - tri[-1, 0])


def main():
    logging.basicConfig(
        level=logging.INFO, format="%(asctime)s %(levelname)s %(message)s"
    )
    folder = Path("site").absolute()
    write_site(folder)
    address, procs = launch(folder)
    try:
        with Client(scheduler_file=str(address), timeout=20) as client:
            log.info("waiting for workers")
            client.wait_for_workers(2, timeout=15)
            totals = client.gather(client.map(reserve, client.map(triangle, range(20))))
            log.info("reserve %.0f", sum(totals))
    except TimeoutError as exc:
        log.error("cluster is not available: %s", exc)
        sys.exit("reserves are not computed, see the runbook for capacity problems")
    finally:
        shut_down(procs)


if __name__ == "__main__":
    main()
