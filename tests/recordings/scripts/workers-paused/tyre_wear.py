"""Wear forecast of the fleet's tyres, one task per vehicle class and axle.

Every worker keeps the tread table in memory; the forecast looks it up thousands of times.
"""

from __future__ import annotations

import argparse
import logging
import sys
import tempfile
import time

import dask
import numpy as np
from dask.distributed import Client, LocalCluster, WorkerPlugin, get_worker, wait

log = logging.getLogger("tyres")

CLASSES = ["van", "box", "tipper", "coach"]
AXLES = 3
COMPOUNDS = 24
SPEEDS = 400


class TreadTable(WorkerPlugin):
    """Loads the tread table once per worker."""

    name = "tread-table"

    def __init__(self, temperatures: int):
        self.temperatures = temperatures

    def setup(self, worker):
        shape = (COMPOUNDS, SPEEDS, self.temperatures)
        table = np.full(shape, 1.0)
        for c in range(COMPOUNDS):
            table[c] *= 0.8 + c / 100
        worker.tread_table = table
        logging.getLogger("distributed.worker.tyres").info(
            "tread table: %.0f MB", table.nbytes / 1e6
        )

    def teardown(self, worker):
        worker.tread_table = None


def mileage(vehicle: str, axle: int) -> np.ndarray:
    rng = np.random.default_rng(len(vehicle) * 31 + axle)
    return rng.normal(240.0, 40.0, size=365)


def forecast(vehicle: str, axle: int) -> float:
    """Millimetres of tread at the end of the year."""
    table = get_worker().tread_table
    tread = 8.0
    for day, km in enumerate(mileage(vehicle, axle)):
        factor = table[axle, int(abs(km)) % SPEEDS, day % table.shape[2]]
        tread -= 1e-5 * km * factor
    time.sleep(0.2)
    return round(tread, 2)


def smoke_test(client: Client) -> None:
    """Is the cluster up at all?"""
    info = client.scheduler_info()["workers"]
    for address, worker in info.items():
        log.info(
            "worker %s: %d threads, limit %.0f MB",
            address,
            worker["nthreads"],
            worker["memory_limit"] / 1e6,
        )


def run(
    client: Client, temperatures: int, patience: float
) -> dict[tuple[str, int], float]:
    client.wait_for_workers(1, timeout=60)
    smoke_test(client)
    client.register_plugin(TreadTable(temperatures))
    time.sleep(2)  # let the workers settle after loading
    jobs = {
        (v, a): client.submit(forecast, v, a, key=f"forecast-{v}-{a}")
        for v in CLASSES
        for a in range(AXLES)
    }
    log.info("%d forecasts submitted", len(jobs))
    try:
        wait(list(jobs.values()), timeout=patience)
    except TimeoutError:
        log.error("deadline of the planning tool passed")
    return {job: future.result() for job, future in jobs.items() if future.done()}


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument(
        "--temperatures", type=int, default=2200, help="steps of the tread table"
    )
    parser.add_argument("--memory", default="260MB", help="limit of the worker")
    parser.add_argument("--patience", type=float, default=25.0)
    args = parser.parse_args()
    logging.basicConfig(
        level=logging.INFO, format="%(asctime)s %(name)s %(levelname)s %(message)s"
    )

    with tempfile.TemporaryDirectory(prefix="tyres-") as tmp:
        dask.config.set(
            {
                "temporary-directory": tmp,
                # the planners hate restarted workers: throttle them instead
                "distributed.worker.memory.terminate": False,
            }
        )
        with LocalCluster(
            n_workers=1,
            threads_per_worker=2,
            memory_limit=args.memory,
            dashboard_address=":0",
        ) as cluster:
            with Client(cluster) as client:
                wear = run(client, args.temperatures, args.patience)

    for (vehicle, axle), tread in sorted(wear.items()):
        log.info("%-7s axle %d: %.2f mm", vehicle, axle, tread)
    missing = len(CLASSES) * AXLES - len(wear)
    if missing:
        log.error("%d forecasts are missing, plan not released", missing)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
