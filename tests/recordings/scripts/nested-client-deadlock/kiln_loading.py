"""Plan how pottery pieces are loaded into the kilns for next week.

For every kiln the planner asks for the shrinkage of the pieces that are
candidates for it (a small simulation each) and then fills the shelves.
"""

import argparse
import logging
from dataclasses import dataclass, field

import numpy as np
from dask.distributed import Client, LocalCluster, as_completed, get_client

logger = logging.getLogger("kilns")


@dataclass
class Kiln:
    name: str
    shelves: int
    peak: int
    pieces: list = field(default_factory=list)


def shrinkage(piece, peak):
    """Simulate how far a piece shrinks at the peak temperature."""
    rng = np.random.default_rng(piece)
    grains = rng.normal(1.0, 0.02, 200_000)
    return piece, float(1 - 0.12 * (peak / 1280) * grains.mean())


def glaze_of(piece):
    table = {0: "ash", 1: "celadon", 2: "tenmoku"}
    return table[piece % 4]


class Planner:
    """Fills the shelves of one kiln, biggest pieces first."""

    def __init__(self, tolerance):
        self.tolerance = tolerance

    def glazes(self, kiln):
        found = {}
        for piece in kiln.pieces:
            try:
                found[piece] = glaze_of(piece)
            except KeyError:
                found[piece] = "clear"
        return found

    def plan_kiln(self, kiln):
        glazes = self.glazes(kiln)
        client = get_client()
        parts = client.map(shrinkage, kiln.pieces, peak=kiln.peak, pure=False)
        sizes = dict(client.gather(parts))
        shelves = [[] for _ in range(kiln.shelves)]
        for n, piece in enumerate(sorted(sizes, key=sizes.get, reverse=True)):
            shelves[n % kiln.shelves].append((piece, glazes[piece]))
        return kiln.name, shelves


def week(n_kilns):
    return [
        Kiln(
            f"kiln-{k}",
            shelves=4,
            peak=1000 + 70 * k,
            pieces=list(range(20 * k, 20 * k + 12)),
        )
        for k in range(n_kilns)
    ]


def warm_up(client, kilns):
    """One piece per kiln straight from here, to see that the model runs."""
    trial = client.map(shrinkage, [k.pieces[0] for k in kilns], peak=1200)
    for piece, ratio in client.gather(trial):
        logger.info("trial piece %d: %.4f", piece, ratio)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kilns", type=int, default=5)
    parser.add_argument("--tolerance", type=float, default=0.01)
    args = parser.parse_args()
    logging.basicConfig(
        level=logging.INFO, format="%(levelname)s %(name)s: %(message)s"
    )

    kilns = week(args.kilns)
    with LocalCluster(
        n_workers=2, threads_per_worker=1, dashboard_address=":0"
    ) as cluster:
        with Client(cluster) as client:
            warm_up(client, kilns)
            planner = Planner(args.tolerance)
            futures = [
                client.submit(planner.plan_kiln, k, key=f"plan_kiln-{k.name}")
                for k in kilns
            ]
            for future, (name, shelves) in as_completed(futures, with_results=True):
                logger.info("%s: %s pieces", name, sum(len(s) for s in shelves))
    logger.info("week planned")


if __name__ == "__main__":
    main()
