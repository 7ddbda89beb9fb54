"""Handicap ratings of a yacht club's fleet.

The velocity table of the reference hull is shared with all workers.  Stage one measures every boat's sail areas,
stage two rates the boats against the reference.  The memory of the workers is tidied up between the stages, because
the measurement library was once seen to keep its pictures.
"""

import argparse
import logging
import time
from dataclasses import dataclass

import numpy as np
from distributed import Client, LocalCluster

log = logging.getLogger("ratings")


@dataclass(frozen=True)
class Boat:
    sail: str
    length: float
    displacement: float


def fleet(size):
    return [
        Boat(f"GBR{1000 + n}", 8.0 + (n * 7 % 60) / 10, 3.0 + (n * 11 % 70) / 10)
        for n in range(size)
    ]


def reference_table():
    """Speed of the reference hull for wind speeds and wind angles."""
    winds, angles = np.meshgrid(np.arange(4, 26), np.arange(30, 181, 2), indexing="ij")
    return np.sqrt(winds) * np.sin(np.radians(angles)) ** 0.6 * 1.9


def measure_sails(boat):
    """Areas of main, jib and spinnaker from the measurement pictures."""
    time.sleep(0.1)
    picture = np.random.default_rng(int(boat.sail[3:])).random((400, 400))
    scale = boat.length**1.8
    return {
        "main": scale * 0.6 * picture.mean(),
        "jib": scale * 0.4 * picture.std(),
        "spin": scale * 1.4,
    }


def rate_boat(boat, sails, table):
    area = sails["main"] + sails["jib"] + 0.3 * sails["spin"]
    power = area / boat.displacement ** (2 / 3)
    speeds = table * (0.8 + power / 60)
    return boat.sail, round(600 / float(speeds.mean()), 1)


class RatingOffice:
    def __init__(self, client):
        self.client = client
        self.table = client.scatter(reference_table(), broadcast=True)

    def measure(self, boats):
        futures = self.client.map(measure_sails, boats)
        sails = self.client.gather(futures)
        log.info("measured %d boats", len(sails))
        return sails

    def tidy(self):
        log.info("tidying the workers up")
        self.client.restart(timeout=20)

    def rate(self, boats, sails):
        futures = [
            self.client.submit(rate_boat, boat, areas, self.table)
            for boat, areas in zip(boats, sails)
        ]
        return dict(self.client.gather(futures))


def publish(ratings, closing):
    print(f"ratings for {closing}")
    for sail, seconds in sorted(ratings.items(), key=lambda pair: pair[1]):
        print(f"  {sail:<10}{seconds:8.1f} s/mile")


def main():
    parser = argparse.ArgumentParser(description="Rate the fleet.")
    parser.add_argument("--boats", type=int, default=40)
    parser.add_argument("--closing", default="2026-11-01")
    args = parser.parse_args()
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(name)s %(message)s")

    boats = fleet(args.boats)
    with LocalCluster(
        n_workers=2, threads_per_worker=1, memory_limit="400MB", dashboard_address=":0"
    ) as cluster:
        with Client(cluster) as client:
            office = RatingOffice(client)
            sails = office.measure(boats)
            office.tidy()
            ratings = office.rate(boats, sails)
    publish(ratings, args.closing)


if __name__ == "__main__":
    main()
