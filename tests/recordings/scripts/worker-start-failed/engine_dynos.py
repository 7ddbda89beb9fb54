"""Evaluates a night on the engine test benches.

The plain worker filters the traces; the sweeps talk to the bench licence and
therefore run on a worker which offers BENCH.
"""

import logging
import os
import subprocess
import sys
import tempfile
import time

import numpy as np
from dask.distributed import Client, wait

log = logging.getLogger("engine_dynos")

POOLS = {
    "filter": {"nthreads": "1", "options": []},
    "bench": {"nthreads": "2", "options": ["--resources", "BENCH=2x"]},
}
ENGINES = ["M110", "M113", "OM642", "OM656"]


def dask_command(*args):
    return subprocess.Popen([sys.executable, "-m", "dask", *args])


class BenchCluster:
    """Scheduler and pools as on the test floor, each one a command of its own."""

    def __init__(self, folder):
        self.folder = folder
        self.file = os.path.join(folder, "scheduler.json")
        self.processes = []

    def __enter__(self):
        self.processes.append(
            dask_command(
                "scheduler",
                "--host",
                "127.0.0.1",
                "--port",
                "0",
                "--dashboard-address",
                ":0",
                "--scheduler-file",
                self.file,
            )
        )
        while not os.path.exists(self.file):
            time.sleep(0.2)
        for name, pool in POOLS.items():
            self.processes.append(
                dask_command(
                    "worker",
                    "--scheduler-file",
                    self.file,
                    "--name",
                    name,
                    "--nthreads",
                    pool["nthreads"],
                    "--memory-limit",
                    "250MiB",
                    "--no-dashboard",
                    "--local-directory",
                    self.folder,
                    *pool["options"],
                )
            )
        return self

    def __exit__(self, *exc):
        for p in reversed(self.processes):
            p.terminate()
        for p in self.processes:
            try:
                p.wait(15)
            except subprocess.TimeoutExpired:
                p.kill()


def read_trace(engine, n=60_000):
    rng = np.random.default_rng(len(engine) + ord(engine[-1]))
    rpm = np.linspace(900, 5200, n)
    return rpm, 310 * np.exp(-(((rpm - 2800) / 1900) ** 2)) + rng.normal(0, 6, n)


def smooth(trace, width=200):
    rpm, torque = trace
    k = np.ones(width) / width
    return rpm, np.convolve(torque, k, mode="same")


def run_sweep(engine, trace):
    """Fits the torque curve with the solver of the bench."""
    rpm, torque = trace
    time.sleep(1)
    coefs = np.polyfit(rpm / 1000, torque, 5)
    power = torque * rpm / 9549
    return {
        "engine": engine,
        "kw": float(power.max()),
        "curve": coefs.round(3).tolist(),
    }


def main():
    logging.basicConfig(
        level=logging.INFO, format="%(asctime)s %(levelname)s %(name)s %(message)s"
    )
    with (
        tempfile.TemporaryDirectory(prefix="dynos-") as folder,
        BenchCluster(folder) as benches,
    ):
        with Client(scheduler_file=benches.file) as client:
            client.wait_for_workers(1, timeout=60)
            traces = {
                e: client.submit(smooth, client.submit(read_trace, e)) for e in ENGINES
            }
            wait(list(traces.values()), timeout=30)
            log.info("traces of %d engines smoothed", len(traces))

            sweeps = [
                client.submit(run_sweep, e, t, resources={"BENCH": 1})
                for e, t in traces.items()
            ]
            wait(sweeps, timeout=20)
            for row in client.gather(sweeps):
                log.info("%s %.0f kW", row["engine"], row["kw"])


if __name__ == "__main__":
    main()
