"""Run an online auction whose book lives in an actor."""

import os
import time

from dask.distributed import Client, LocalCluster


class Book:
    def __init__(self, lots):
        self.best = dict.fromkeys(lots, 0)
        self.audit = open("auction.log", "a") if os.environ.get("AUDIT") else None

    def bid(self, lot, amount):
        if amount > self.best[lot]:
            self.best[lot] = amount
        return self.best[lot]

    def close_lot(self, lot):
        price = self.best.pop(lot)
        return price


def bidder(book, name, lots):
    wins = 0
    for i, lot in enumerate(lots):
        offer = 100 + (len(name) * 37 + i * 13) % 60
        wins += book.bid(lot, offer).result() == offer
        time.sleep(0.02)
    return name, wins


def main():
    with (
        LocalCluster(
            n_workers=2, threads_per_worker=2, dashboard_address=None
        ) as cluster,
        Client(cluster) as client,
    ):
        lots = ["vase", "clock", "desk", "map"]
        book = client.submit(Book, lots, actor=True).result()
        first = [
            client.submit(bidder, book, n, lots, key=f"bidder-{n}")
            for n in ("ann", "bartek")
        ]
        print(client.gather(first))
        print("clock sold for", book.close_lot("clock").result())
        late = [
            client.submit(bidder, book, n, lots, key=f"bidder-{n}")
            for n in ("chloe", "dmitri")
        ]
        print(client.gather(late))


if __name__ == "__main__":
    main()
