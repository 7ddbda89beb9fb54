"""Chapter marks and settlement of the podcast catalogue.

Every night the new episodes are cut into chapters on the cluster; as each one comes
back, it is booked against the account of its channel. The job ends when all are booked.
"""

import argparse
import logging
import random
import sys
import threading
import time
from collections import Counter

from dask.distributed import Client, LocalCluster

log = logging.getLogger("podcast")

RATES = {  # euro per chapter
    "morning-brief": 0.40,
    "deep-sea": 0.55,
    "ledger-talk": 0.35,
    "old-maps": 0.60,
    "kitchen-lab": 0.45,
}

CATALOGUE = ["morning-brief", "deep-sea", "ledger-talk", "old-maps", "kitchen-lab"]
LAUNCHED_THIS_WEEK = {"field-notes": 3}


def new_episodes(seed, count):
    rng = random.Random(seed)
    episodes = [
        {
            "id": f"ep{n:04d}",
            "channel": rng.choice(CATALOGUE),
            "minutes": rng.randint(12, 70),
        }
        for n in range(count)
    ]
    for channel, number in LAUNCHED_THIS_WEEK.items():
        for n in range(number):
            episodes.insert(
                rng.randrange(len(episodes)),
                {
                    "id": f"ep9{n:03d}",
                    "channel": channel,
                    "minutes": rng.randint(12, 70),
                },
            )
    return episodes


def energy_curve(episode):
    rng = random.Random(episode["id"])
    return [rng.random() for _ in range(episode["minutes"] * 20)]


def cut_chapters(episode):
    """Chapter marks at the quiet moments of an episode."""
    time.sleep(0.2)
    curve = energy_curve(episode)
    marks, last = [0], 0
    for i, level in enumerate(curve):
        if level < 0.04 and i - last > 60:
            marks.append(i * 3)
            last = i
    return {"id": episode["id"], "channel": episode["channel"], "marks": marks}


class Settlement:
    """Books finished episodes; `closed` is set when the last one has been booked."""

    def __init__(self, expected):
        self.expected = expected
        self.amounts = Counter()
        self.booked = 0
        self.closed = threading.Event()
        self._lock = threading.Lock()

    def book_episode(self, future):
        result = future.result()
        amount = RATES[result["channel"]] * len(result["marks"])
        with self._lock:
            self.amounts[result["channel"]] += amount
            self.booked += 1
            if self.booked % 10 == 0:
                log.info("%d of %d episodes booked", self.booked, self.expected)
            if self.booked == self.expected:
                self.closed.set()

    def report(self):
        for channel, amount in sorted(self.amounts.items()):
            log.info("%-14s %8.2f EUR", channel, amount)


def run(client, episodes, limit):
    settlement = Settlement(len(episodes))
    futures = []
    for episode in episodes:
        future = client.submit(
            cut_chapters, episode, key=f"cut_chapters-{episode['id']}"
        )
        future.add_done_callback(settlement.book_episode)
        futures.append(future)
    log.info("%d episodes submitted", len(futures))
    if not settlement.closed.wait(limit):
        raise RuntimeError(
            f"settlement still open after {limit} s: "
            f"{settlement.booked} of {settlement.expected} episodes booked"
        )
    settlement.report()
    return settlement


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seed", type=int, default=1126)
    parser.add_argument("--episodes", type=int, default=37)
    parser.add_argument("--limit", type=float, default=30)
    options = parser.parse_args()
    logging.basicConfig(
        level=logging.INFO, format="%(asctime)s %(levelname)-7s %(name)s: %(message)s"
    )
    episodes = new_episodes(options.seed, options.episodes)
    cluster = LocalCluster(
        n_workers=2, threads_per_worker=1, memory_limit="300MB", dashboard_address=":0"
    )
    client = Client(cluster)
    try:
        run(client, episodes, options.limit)
    finally:
        client.close()
        cluster.close()


if __name__ == "__main__":
    sys.exit(main())
