"""Collect quotes of vendors for the tender; a refusal is normal and only goes on the list."""

import sys
import time
from dataclasses import dataclass

import numpy as np
from dask.distributed import Client, LocalCluster


class QuoteRefused(Exception):
    def __init__(self, vendor, reason):
        super().__init__(f"{vendor} refused to quote: {reason}")
        self.vendor = vendor
        self.reason = reason


@dataclass(frozen=True)
class Lot:
    number: int
    pieces: int
    tolerance: float


class Vendor:
    def __init__(self, name, min_pieces, factor):
        self.name, self.min_pieces, self.factor = name, min_pieces, factor

    def quote(self, lot):
        time.sleep(0.3)
        if lot.pieces < self.min_pieces:
            raise QuoteRefused(
                self.name, f"lot {lot.number} is below {self.min_pieces} pieces"
            )
        return self.name, lot.number, round(lot.pieces * self.factor / lot.tolerance, 2)


VENDORS = [
    Vendor("Brandt", 50, 0.11),
    Vendor("Lindqvist", 200, 0.09),
    Vendor("Oyelaran", 80, 0.12),
]


def lots():
    rng = np.random.default_rng(77)
    return [Lot(i, int(p), 0.05) for i, p in enumerate(rng.integers(210, 900, 6))] + [
        Lot(6, 120, 0.02)
    ]


def ask(vendor, lot):
    return vendor.quote(lot)


def tender(client):
    asked = {
        (v.name, lot.number): client.submit(ask, v, lot)
        for lot in lots()
        for v in VENDORS
    }
    best, refused = {}, []
    for (name, number), future in asked.items():
        try:
            _, _, price = future.result()
        except QuoteRefused as exc:
            refused.append((exc.vendor, number))
            continue
        if number not in best or price < best[number][1]:
            best[number] = (name, price)
    return best, refused


def main():
    with (
        LocalCluster(
            n_workers=2, threads_per_worker=1, dashboard_address=":0"
        ) as cluster,
        Client(cluster) as client,
    ):
        best, refused = tender(client)
    for number, (name, price) in sorted(best.items()):
        print(f"lot {number}: {name} at {price}")
    print("refused:", refused)
    return 0


if __name__ == "__main__":
    sys.exit(main())
