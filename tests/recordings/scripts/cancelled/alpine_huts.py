"""Monte Carlo of the winter bookings of the alpine huts.

Draws many seasons per hut and writes the distribution of revenue.  Usually
started by hand from a terminal on the analyst's machine.
"""

import csv
import random
import time
from pathlib import Path

from dask.distributed import Client, LocalCluster, as_completed

HUTS = {"Similaun": 45, "Konkordia": 155, "Monte Rosa": 120, "Britannia": 134}
SEASONS = 30


def simulate_season(hut, beds, season):
    rng = random.Random(f"{hut}-{season}")
    revenue = 0.0
    until = time.time() + 0.8
    nights = 0
    while time.time() < until:
        nights += 1
        snow = rng.random()
        taken = min(beds, int(rng.gauss(beds * (0.4 + 0.5 * snow), beds * 0.1)))
        if nights <= 120:
            revenue += max(0, taken) * 42.0
    return hut, season, revenue


def check_hut(hut, beds):
    if beds > 150:
        raise ValueError(f"{hut}: {beds} beds are more than the register allows")
    return hut


class Partial:
    """Results so far, kept when the run ends early."""

    def __init__(self, path):
        self.path = Path(path)
        self.rows = []

    def save(self):
        with self.path.open("w", newline="") as out:
            writer = csv.writer(out)
            writer.writerow(["hut", "season", "revenue"])
            writer.writerows(sorted(self.rows))


def registered(client):
    good = []
    futures = {hut: client.submit(check_hut, hut, beds) for hut, beds in HUTS.items()}
    for hut, future in futures.items():
        try:
            good.append(future.result())
        except ValueError as problem:
            print("left out:", problem, flush=True)
    return good


def main():
    partial = Partial("revenue.csv")
    with LocalCluster(
        n_workers=2, threads_per_worker=1, memory_limit="350MB", dashboard_address=":0"
    ) as cluster:
        with Client(cluster) as client:
            huts = registered(client)
            futures = [
                client.submit(simulate_season, hut, HUTS[hut], season)
                for season in range(SEASONS)
                for hut in huts
            ]
            print(f"drawing {len(futures)} seasons", flush=True)
            try:
                for number, future in enumerate(as_completed(futures), 1):
                    partial.rows.append(future.result())
                    if number % 4 == 0:
                        print(f"{number} of {len(futures)} seasons drawn", flush=True)
            finally:
                partial.save()
                print(f"{len(partial.rows)} rows saved", flush=True)
    print("all seasons drawn")


if __name__ == "__main__":
    main()
