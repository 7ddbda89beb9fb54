"""Calibrate the sediment transport model of every river basin.

The solver is licensed per machine: one solve at a time on each worker, which the
cluster enforces through the resource SOLVER. A calibration makes a first solve for the
starting values, then tries a grid of roughness values as tasks of its own.
"""

from __future__ import annotations

import argparse
import logging
import random
import sys
import tempfile
import time

from dask.distributed import Client, LocalCluster, as_completed, worker_client

log = logging.getLogger("sediment.fits")

BASINS = ["upper-elm", "lower-elm", "tarrow", "skell", "braden", "ouze"]
SOLVER = {"SOLVER": 1}


def load_gauges(basin: str) -> list[float]:
    rng = random.Random(basin)
    time.sleep(0.3)
    return [rng.lognormvariate(1.2, 0.4) for _ in range(365)]


def quality_check(basin: str, flow: list[float]) -> list[float]:
    upper = sorted(flow)[int(len(flow) * 0.98)]
    kept = [min(value, upper) for value in flow]
    log.info("%s: %d days, capped at %.2f", basin, len(kept), upper)
    return kept


def solve(flow: list[float], roughness: float) -> float:
    """One run of the transport solver: the misfit for this roughness."""
    load = 0.0
    for value in flow:
        load += max(value - 1.5, 0.0) ** 1.5 * roughness
    time.sleep(0.4)
    return abs(load / len(flow) - 0.11)


def run_solver(basin: str, flow: list[float], roughness: float) -> tuple[float, float]:
    return solve(flow, roughness), roughness


def calibrate_basin(basin: str, flow: list[float], tries: int) -> dict:
    start = solve(flow, 0.03)
    grid = [0.01 + 0.01 * n for n in range(tries)]
    with worker_client() as client:
        runs = [
            client.submit(run_solver, basin, flow, roughness, resources=SOLVER)
            for roughness in grid
        ]
        misfit, roughness = min(client.gather(runs))
    return {"basin": basin, "start": start, "misfit": misfit, "roughness": roughness}


def collect(client: Client, tries: int, patience: float) -> list[dict]:
    fits = []
    for basin in BASINS:
        flow = client.submit(load_gauges, basin)
        checked = client.submit(quality_check, basin, flow)
        fits.append(
            client.submit(
                calibrate_basin,
                basin,
                checked,
                tries,
                resources=SOLVER,
                key=f"calibrate-{basin}",
            )
        )
    results = []
    for future in as_completed(fits, timeout=patience):
        fit = future.result()
        log.info("%(basin)s: roughness %(roughness).3f, misfit %(misfit).4f", fit)
        results.append(fit)
    return results


def main(argv: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tries", type=int, default=5)
    parser.add_argument(
        "--patience", type=float, default=30, help="seconds for all basins"
    )
    args = parser.parse_args(argv)
    logging.basicConfig(
        level=logging.INFO, format="%(asctime)s %(levelname)s %(name)s %(message)s"
    )

    with (
        tempfile.TemporaryDirectory(prefix="sediment-") as scratch,
        LocalCluster(
            n_workers=2,
            threads_per_worker=2,
            resources=SOLVER,
            memory_limit="256MiB",
            dashboard_address=":0",
            local_directory=scratch,
        ) as cluster,
        Client(cluster) as client,
    ):
        results = collect(client, args.tries, args.patience)
    best = min(results, key=lambda fit: fit["misfit"])
    log.info("%d basins calibrated, best fit %s", len(results), best["basin"])
    return 0


if __name__ == "__main__":
    sys.exit(main())
