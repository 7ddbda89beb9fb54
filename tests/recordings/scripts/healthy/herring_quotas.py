"""Herring quotas: shares out the year's quota by simulated stock, on a pool that fills up while the job runs."""

import pathlib
import subprocess
import sys
import tempfile
import threading
import time

import numpy as np
from dask.distributed import Client, as_completed


def stock(area, run):
    rng = np.random.default_rng(area * 1000 + run)
    biomass = 400.0 + 30 * area
    for _ in range(1500):
        biomass = max(1.0, biomass * (1 + rng.normal(0.0002, 0.004)))
    time.sleep(0.25)
    return area, biomass


def share(rows, quota):
    totals = {}
    for area, biomass in rows:
        totals.setdefault(area, []).append(biomass)
    means = {area: float(np.mean(values)) for area, values in totals.items()}
    whole = sum(means.values())
    return {area: round(quota * mean / whole, 1) for area, mean in means.items()}


class FillingPool:
    """Workers are granted by the site's queue one after another."""

    def __init__(self, folder, grants=(4.0, 3.0, 4.0)):
        self.ticket = folder / "pool.json"
        self.grants = grants
        self.processes = []
        self.closing = threading.Event()

    def _start(self, *words):
        self.processes.append(subprocess.Popen([sys.executable, "-m", "dask", *words]))

    def _fill(self):
        for number, delay in enumerate(self.grants):
            if self.closing.wait(delay):
                return
            print(f"grant {number + 1} of {len(self.grants)}", flush=True)
            self._start(
                "worker",
                "--scheduler-file",
                str(self.ticket),
                "--nthreads",
                "1",
                "--memory-limit",
                "250MB",
                "--name",
                f"grant-{number}",
                "--no-dashboard",
            )

    def __enter__(self):
        self._start(
            "scheduler",
            "--host",
            "127.0.0.1",
            "--port",
            "0",
            "--no-dashboard",
            "--scheduler-file",
            str(self.ticket),
        )
        self.filler = threading.Thread(target=self._fill)
        self.filler.start()
        return self

    def __exit__(self, *exc):
        self.closing.set()
        self.filler.join()
        for process in reversed(self.processes):
            process.terminate()
            process.wait(10)


def main(areas=6, runs=20, quota=52_000):
    with tempfile.TemporaryDirectory() as name, FillingPool(pathlib.Path(name)) as pool:
        with Client(scheduler_file=str(pool.ticket), timeout=20) as client:
            try:
                client.wait_for_workers(1, timeout=1)
            except TimeoutError:
                print("no worker yet, queueing anyway")
            futures = [
                client.submit(stock, area, run)
                for area in range(areas)
                for run in range(runs)
            ]
            seen = 0
            for _ in as_completed(futures):
                seen += 1
                if seen % 40 == 0:
                    print(
                        f"{seen}/{len(futures)} runs, {len(client.nthreads())} workers",
                        flush=True,
                    )
            shares = client.submit(share, futures, quota).result()
            for area, tonnes in shares.items():
                print(f"area {area}: {tonnes:9.1f} t")
            assert abs(sum(shares.values()) - quota) < 1


if __name__ == "__main__":
    main()
