"""Follows the trolleys of an airport through the day and keeps the balance of each bay."""

import logging
import random
import sys
import time

import dask
from dask.distributed import Client, LocalCluster

logging.basicConfig(
    level=logging.INFO, format="%(asctime)s %(levelname)s %(name)s %(message)s"
)
log = logging.getLogger("trolley_counts")

BAYS = 24
SETTINGS = {
    "distributed.worker.lifetime.duration": "18s",
    "distributed.worker.lifetime.stagger": "1s",
    "distributed.worker.lifetime.restart": True,
}


class BayLedger:
    """Number of trolleys in each bay, from the moves of the day."""

    def __init__(self, initial):
        self.bays = dict(initial)
        self.moves = 0

    def apply(self, moves):
        for source, target, number in moves:
            self.bays[source] -= number
            self.bays[target] += number
        self.moves += len(moves)
        return self.moves

    def shortage(self):
        return sorted(bay for bay, number in self.bays.items() if number < 10)


def moves_of(minute):
    rng = random.Random(minute)
    moves = []
    for _ in range(40):
        moves.append((rng.randrange(BAYS), rng.randrange(BAYS), rng.randint(1, 3)))
    return moves


def replay(client, ledger, minutes, pause=0.15):
    for minute in range(minutes):
        moves = client.submit(moves_of, minute, key=f"moves_of-{minute}").result()
        total = ledger.apply(moves).result()
        if minute % 30 == 0:
            log.info("minute %d: %d moves", minute, total)
        time.sleep(pause)
    return total


def main():
    with dask.config.set(SETTINGS):
        with LocalCluster(
            n_workers=1,
            threads_per_worker=2,
            memory_limit="400MB",
            dashboard_address=None,
        ) as cluster:
            with Client(cluster) as client:
                initial = {bay: 60 for bay in range(BAYS)}
                ledger = client.submit(
                    BayLedger, initial, actor=True, key="BayLedger-terminal-2"
                ).result()
                log.info("ledger opened with %d bays", BAYS)
                total = replay(client, ledger, minutes=180)
                log.info(
                    "%d moves, short of trolleys: %s", total, ledger.shortage().result()
                )
    return 0


if __name__ == "__main__":
    sys.exit(main())
