"""Follow icebergs through a season: an actor keeps the index of their drift."""

import argparse
import logging
import sys
import time

import numpy as np
from distributed import Client, LocalCluster

log = logging.getLogger("drift")

GRID = (1100, 1100)


class DriftIndex:
    """Positions of all bergs by day, with the ice maps for later look-ups."""

    def __init__(self, season):
        self.season = season
        self.positions = {}
        self.maps = {}

    def add_day(self, day, bergs):
        self.positions[day] = bergs
        self.maps[day] = ice_map(self.season, day)
        time.sleep(0.3)
        return len(self.positions)

    def path(self, berg):
        return [self.positions[d][berg] for d in sorted(self.positions)]

    def ice_at(self, day, x, y):
        return float(self.maps[day][0][int(y) % GRID[0], int(x) % GRID[1]])


def ice_map(season, day):
    """Thickness and concentration of the ice on the grid, as doubles."""
    rng = np.random.default_rng(season * 400 + day)
    return rng.random(GRID), rng.random(GRID)


def locate_bergs(season, day, count):
    """Centres of the bergs in the day's radar picture."""
    rng = np.random.default_rng(season * 400 + day)
    picture = rng.random((300, 300))
    drift = picture.mean() * day
    return [(float(x + drift), float(y)) for x, y in rng.uniform(0, 1000, (count, 2))]


def feed_index(client, index, args):
    days = range(1, args.days + 1)
    located = client.map(
        locate_bergs, [args.season] * len(days), days, count=args.bergs
    )
    for day, future in zip(days, located):
        known = index.add_day(day, future.result()).result(timeout=60)
        if known % 5 == 0:
            log.info("%d days are in the index", known)


def summarise(index, args):
    lengths = []
    for berg in range(args.bergs):
        path = np.array(index.path(berg).result(timeout=60))
        steps = np.hypot(*np.diff(path, axis=0).T)
        lengths.append(steps.sum())
    log.info("mean drift %.1f km", np.mean(lengths))


def main(argv=None):
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--season", type=int, default=2025)
    parser.add_argument("--days", type=int, default=45)
    parser.add_argument("--bergs", type=int, default=30)
    args = parser.parse_args(argv)
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(name)s %(message)s")

    with (
        LocalCluster(
            n_workers=2,
            threads_per_worker=1,
            memory_limit="340MB",
            dashboard_address=":0",
        ) as cluster,
        Client(cluster) as client,
    ):
        index = client.submit(DriftIndex, args.season, actor=True).result()
        log.info("index for season %d is up", args.season)
        feed_index(client, index, args)
        summarise(index, args)
    return 0


if __name__ == "__main__":
    sys.exit(main())
