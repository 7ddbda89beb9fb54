"""Hotel upsells: score tonight's arrivals for room upgrades.

Every evening at 17:00 the front desks of a small chain get a list of guests
who would probably pay for a better room.
"""

import logging
import math
import random
import threading
import time
from contextlib import contextmanager

from dask.distributed import Client, LocalCluster

logging.basicConfig(level=logging.INFO, format="%(asctime)s %(message)s")
log = logging.getLogger("upsells")


class Progress:
    """Counts for the desk's screen; a thread reads it while we work."""

    def __init__(self):
        self.guard = threading.Lock()
        self.seen = 0
        self.offers = 0

    def add(self, seen, offers):
        with self.guard:
            self.seen += seen
            self.offers += offers

    def line(self):
        with self.guard:
            return f"{self.offers} offers for {self.seen} guests"


class UpsellModel:
    def __init__(self, weights, threshold=0.55):
        self.weights = weights
        self.threshold = threshold
        self.progress = Progress()

    def probability(self, guest):
        z = sum(w * guest[name] for name, w in self.weights.items())
        return 1 / (1 + math.exp(-z))

    def score_hotel(self, hotel, guests):
        offers = [
            (g["name"], round(self.probability(g), 3))
            for g in guests
            if self.probability(g) > self.threshold
        ]
        self.progress.add(len(guests), len(offers))
        return hotel, offers


def arrivals(hotel, n):
    rng = random.Random(hotel)
    return [
        {
            "name": f"{hotel[:3].upper()}-{i:03}",
            "nights": rng.randint(1, 9),
            "visits": rng.randint(0, 12),
            "lead": rng.random(),
        }
        for i in range(n)
    ]


def occupancy(hotel):
    time.sleep(0.05)
    return hotel, random.Random(hotel).uniform(0.4, 0.99)


@contextmanager
def desk_cluster():
    cluster = LocalCluster(
        n_workers=2, threads_per_worker=1, memory_limit="300MB", dashboard_address=None
    )
    client = Client(cluster)
    try:
        yield client
    finally:
        log.info("closing the desk's cluster")
        client.close()
        cluster.close()


def run(hotels, attempts=2):
    model = UpsellModel({"nights": 0.21, "visits": 0.13, "lead": -1.4})
    hotel, offers = model.score_hotel("rehearsal", arrivals("rehearsal", 20))
    log.info("rehearsal: %s", model.progress.line())
    with desk_cluster() as client:
        rates = dict(client.gather(client.map(occupancy, hotels)))
        free = [h for h in hotels if rates[h] < 0.97]
        log.info("%d hotels have rooms to offer", len(free))
        for attempt in range(1, attempts + 1):
            try:
                guests = [arrivals(h, 150) for h in free]
                futures = client.map(model.score_hotel, free, guests, pure=False)
                return dict(client.gather(futures))
            except Exception as exc:
                log.warning("attempt %d: %s", attempt, type(exc).__name__)
                if attempt == attempts:
                    raise


def main():
    hotels = [
        "Alpenrose",
        "Bellevue",
        "Cormoran",
        "Drei Koenige",
        "Excelsior",
        "Faehrhaus",
    ]
    for hotel, offers in run(hotels).items():
        print(f"{hotel}: {len(offers)} offers, best {max(offers, key=lambda o: o[1])}")


if __name__ == "__main__":
    main()
