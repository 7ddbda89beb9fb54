"""Warehouse stock kept by an actor while the night's movements are replayed."""

import random

from dask.distributed import Client, LocalCluster


class StockBook:
    def __init__(self, opening):
        self.on_hand = dict(opening)
        self.blocked = set()

    def book(self, sku, quantity):
        level = self.on_hand[sku] + quantity
        if level < 0:
            self.blocked.add(sku)
            del self.on_hand[sku]
            return None
        self.on_hand[sku] = level
        return level

    def closing(self):
        return dict(self.on_hand)


def movements(seed, n):
    rnd = random.Random(seed)
    rows = []
    for i in range(n):
        rows.append((f"sku{rnd.randrange(6)}", rnd.choice([-4, -2, 3, 4])))
    rows[n // 2] = ("sku3", -5000)
    return rows


def main():
    opening = {f"sku{i}": 200 for i in range(6)}
    with (
        LocalCluster(
            n_workers=2, threads_per_worker=1, dashboard_address=None
        ) as cluster,
        Client(cluster) as client,
    ):
        book = client.submit(StockBook, opening, actor=True).result()
        rows = client.submit(movements, 5, 120).result()
        levels = []
        for sku, quantity in rows:
            levels.append(book.book(sku, quantity).result())
        closing = book.closing().result()
        print("movements booked", len(levels))
        for sku, level in sorted(closing.items()):
            print(sku, level)


if __name__ == "__main__":
    main()
