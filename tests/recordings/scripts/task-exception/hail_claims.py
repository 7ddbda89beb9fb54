"""Price the hail claims of a storm with the damage curves of the season."""

import argparse
import logging
import sys
import threading

import numpy as np
from distributed import Client, LocalCluster, Variable

log = logging.getLogger("hail")

REGIONS = {"alb": 11, "brk": 12, "cal": 13, "dor": 14, "est": 15}
CURVES = "damage-curves"


def inspections(region, seed, n=400):
    """Inspected roofs: size of the hailstones (cm) and share of damage."""
    rng = np.random.default_rng(seed)
    size = rng.gamma(4.0, 0.7, n)
    if region == "dor":
        size = np.full(n, 2.0)
    damage = np.clip(0.04 * size + rng.normal(0, 0.02, n), 0, 1)
    return size, damage


def fit_damage_curve(region, seed):
    """Least squares: damage = a + b * size."""
    size, damage = inspections(region, seed)
    design = np.column_stack([np.ones_like(size), size])
    a, b = np.linalg.solve(design.T @ design, design.T @ damage)
    return region, float(a), float(b)


def make_claims(storm, batch, n=200):
    rng = np.random.default_rng(storm * 1000 + batch)
    names = sorted(REGIONS)
    return [
        {
            "region": names[int(rng.integers(len(names)))],
            "size": float(rng.gamma(4.0, 0.7)),
            "sum": float(rng.uniform(4e4, 5e5)),
        }
        for _ in range(n)
    ]


def price_batch(claims):
    """Expected payment for a batch of claims."""
    curves = Variable(CURVES).get(timeout=10)
    total = 0.0
    for claim in claims:
        a, b = curves[claim["region"]]
        total += claim["sum"] * max(0.0, a + b * claim["size"])
    return total


class CurveRefresher(threading.Thread):
    """Fits the curves beside the intake of claims and publishes them."""

    def __init__(self, address):
        super().__init__(name="curve-refresher", daemon=True)
        self.address = address

    def run(self):
        try:
            with Client(self.address, set_as_default=False) as client:
                futures = [
                    client.submit(fit_damage_curve, region, seed)
                    for region, seed in REGIONS.items()
                ]
                fitted = client.gather(futures)
                curves = {region: (a, b) for region, a, b in fitted}
                Variable(CURVES, client=client).set(curves)
                log.info("published %d curves", len(curves))
        except Exception as e:
            log.warning("curves not refreshed (%s), pricing goes on", type(e).__name__)


def intake(client, storm, batches):
    futures = client.map(make_claims, [storm] * batches, range(batches))
    client.gather(futures)
    log.info("%d batches of claims taken in", batches)
    return futures


def main(argv=None):
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--storm", type=int, default=27)
    parser.add_argument("--batches", type=int, default=6)
    args = parser.parse_args(argv)
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(name)s %(message)s")

    with (
        LocalCluster(
            n_workers=2, threads_per_worker=1, dashboard_address=":0"
        ) as cluster,
        Client(cluster) as client,
    ):
        refresher = CurveRefresher(cluster.scheduler_address)
        refresher.start()
        claims = intake(client, args.storm, args.batches)
        refresher.join(timeout=120)
        log.info("pricing storm %d", args.storm)
        totals = client.gather(client.map(price_batch, claims))
        log.info("reserve for storm %d: %.0f", args.storm, sum(totals))
    return 0


if __name__ == "__main__":
    sys.exit(main())
