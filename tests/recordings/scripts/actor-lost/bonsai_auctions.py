#!/usr/bin/env python
"""Replay of the day's bonsai auctions: bids go to one book, afterwards the lots are settled.

The book is an actor, so that bids of all workers see the same state.
"""

import argparse
import logging
import random
import time

from dask.distributed import Client, LocalCluster, wait

log = logging.getLogger("bonsai_auctions")

SPECIES = ["juniper", "trident maple", "black pine", "hornbeam", "azalea", "larch"]


class BidBook:
    """Best bid of every lot, with the history that the auditors want."""

    def __init__(self, reserve):
        self.reserve = dict(reserve)
        self.best = {}
        self.history = []

    def place(self, bids):
        accepted = 0
        for lot, bidder, amount in bids:
            self.history.append((lot, bidder, amount, bytes(2000)))
            floor = self.best.get(lot, (None, self.reserve[lot]))[1]
            if amount > floor:
                self.best[lot] = (bidder, amount)
                accepted += 1
        return accepted

    def winner(self, lot):
        return self.best.get(lot)

    def size(self):
        return len(self.history)


def read_bids(session, lots, n=700):
    rng = random.Random(session)
    time.sleep(0.4)
    return [
        (rng.randrange(lots), f"bidder-{rng.randrange(90)}", rng.randint(40, 4000))
        for _ in range(n)
    ]


def place_bids(book, session, lots):
    """One session: read its bids, place them by the hundred."""
    bids, accepted = read_bids(session, lots), 0
    for start in range(0, len(bids), 100):
        accepted += book.place(bids[start : start + 100]).result()
    return session, accepted


def settle_lot(book, lot):
    """Hammer price plus premium of one lot."""
    winner = book.winner(lot).result()
    if winner is None:
        return lot, None, 0.0
    bidder, amount = winner
    return lot, bidder, round(amount * 1.18, 2)


def trim(client):
    """Give memory back between the stages: restart the worker that grew most."""
    info = client.scheduler_info(n_workers=-1)["workers"]
    used = {address: w["metrics"]["memory"] for address, w in info.items()}
    fullest = max(used, key=used.get)
    log.info(
        "memory: %s", ", ".join(f"{a} {m / 2**20:.0f} MiB" for a, m in used.items())
    )
    client.restart_workers([fullest], timeout=60)
    client.wait_for_workers(len(used), timeout=60)


def parse_args():
    p = argparse.ArgumentParser(description=__doc__)
    p.add_argument("--sessions", type=int, default=24)
    p.add_argument("--lots", type=int, default=60)
    return p.parse_args()


def main():
    args = parse_args()
    logging.basicConfig(
        level=logging.INFO, format="%(asctime)s %(name)s %(levelname)s %(message)s"
    )
    with (
        LocalCluster(
            n_workers=2,
            threads_per_worker=1,
            memory_limit="300MB",
            dashboard_address=":0",
        ) as cluster,
        Client(cluster) as client,
    ):
        client.wait_for_workers(2, timeout=60)
        reserve = {lot: 30 + 10 * (lot % len(SPECIES)) for lot in range(args.lots)}
        book = client.submit(BidBook, reserve, actor=True, key="bid-book").result()
        placed = [
            client.submit(place_bids, book, s, args.lots, key=f"place_bids-{s}")
            for s in range(args.sessions)
        ]
        wait(placed, timeout=120)
        accepted = sum(n for _, n in client.gather(placed))
        log.info("%d bids in the book, %d accepted", book.size().result(), accepted)
        del placed
        time.sleep(3)  # metrics of the workers come once in a while
        trim(client)
        settled = [
            client.submit(settle_lot, book, lot, key=f"settle_lot-{lot}")
            for lot in range(args.lots)
        ]
        wait(settled, timeout=30)
        turnover = sum(price for _, _, price in client.gather(settled))
        log.info("%d lots settled, turnover %.2f", args.lots, turnover)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
