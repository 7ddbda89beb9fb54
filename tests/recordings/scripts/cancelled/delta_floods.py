"""Flood maps of a river delta for a set of dike heights, to be looked at by the water board.

Runs for a good while on a laptop; whoever started it watches the waves go by.
"""

import argparse
import logging
import time

import numpy as np
from distributed import Client, LocalCluster, as_completed

log = logging.getLogger("delta")


def terrain(seed: int, size: int = 160) -> np.ndarray:
    rng = np.random.default_rng(seed)
    ground = rng.normal(0, 0.6, (size, size))
    for _ in range(20):
        ground = (
            ground
            + np.roll(ground, 1, 0)
            + np.roll(ground, 1, 1)
            + np.roll(ground, -1, 0)
        ) / 4
    return ground * 8 + np.linspace(-1.5, 3.0, size)


def gauge_offset(gauge: str) -> float:
    if gauge == "lock 7":
        raise LookupError(f"gauge {gauge} is out of service")
    return {"weir": 0.12, "pier": -0.05}.get(gauge, 0.0)


def flood_depth(
    ground: np.ndarray, dike: float, surge: float, steps: int
) -> np.ndarray:
    water = np.where(ground < -0.5, surge, 0.0)
    for _ in range(steps):
        level = np.where(water > 0, ground + water, -9.0)
        highest = np.maximum.reduce(
            [np.roll(level, s, a) for s in (1, -1) for a in (0, 1)]
        )
        water = np.where(
            (highest > ground + 0.02) & (highest > dike),
            np.minimum(highest - ground, surge),
            water,
        )
        time.sleep(0.02)
    return water


def flooded_share(water: np.ndarray) -> float:
    return float((water > 0.05).mean())


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--dikes", type=int, default=40)
    parser.add_argument("--steps", type=int, default=150)
    options = parser.parse_args()
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(message)s")

    shares = {}
    with (
        LocalCluster(
            n_workers=2,
            threads_per_worker=1,
            memory_limit="400MB",
            dashboard_address=None,
        ) as cluster,
        Client(cluster) as client,
    ):
        offset = 0.0
        for gauge in ("weir", "lock 7", "pier"):
            try:
                offset += client.submit(gauge_offset, gauge).result()
            except LookupError as problem:
                log.info("%s, going on without it", problem)
        ground = client.submit(terrain, 17)
        heights = np.linspace(0.2, 3.0, options.dikes)
        jobs = {}
        for height in heights:
            water = client.submit(
                flood_depth, ground, float(height), 2.4 + offset, options.steps
            )
            jobs[client.submit(flooded_share, water)] = float(height)
        try:
            for number, future in enumerate(as_completed(jobs), start=1):
                shares[jobs[future]] = future.result()
                print(
                    f"wave {number} of {len(jobs)}: dike {jobs[future]:.2f} m, {shares[jobs[future]]:.1%} under water",
                    flush=True,
                )
        finally:
            log.info("%d of %d heights in the table", len(shares), len(jobs))
            with open("shares.csv", "w") as table:
                for height, share in sorted(shares.items()):
                    table.write(f"{height:.3f},{share:.4f}\n")


if __name__ == "__main__":
    main()
