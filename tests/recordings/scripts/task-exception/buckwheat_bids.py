"""Settlement of the weekly buckwheat auction.

Growers send their bids as text; each lot is cleared for itself and the clearing prices are written to a
settlement file, which is put in its place only when the round is complete.
"""

import csv
import decimal
import os
import sqlite3
import tempfile
import time

import dask
from dask import delayed
from distributed import Client, LocalCluster

D = decimal.Decimal


class AuctionRound:
    """One round: a database for the log and a settlement file that appears at the end."""

    def __init__(self, folder, number):
        self.target = os.path.join(folder, f"settlement-{number}.csv")
        self.part = self.target + ".part"
        self.db = sqlite3.connect(os.path.join(folder, "rounds.db"))
        self.db.execute(
            "CREATE TABLE IF NOT EXISTS rounds (number INTEGER, what TEXT, at REAL)"
        )
        self.number = number

    def note(self, what):
        self.db.execute(
            "INSERT INTO rounds VALUES (?, ?, ?)", (self.number, what, time.time())
        )
        self.db.commit()
        print(f"round {self.number}: {what}", flush=True)

    def write(self, cleared):
        with open(self.part, "w", newline="") as f:
            out = csv.writer(f)
            for lot, price, volume in cleared:
                out.writerow([lot, f"{price:.2f}", f"{volume:.1f}"])

    def __enter__(self):
        self.note("opened")
        return self

    def __exit__(self, *exc_info):
        self.note("closing")
        os.replace(self.part, self.target)
        self.note("settled")
        self.db.close()


def collect_bids(lot, seed=3):
    bids = []
    for grower in range(40):
        price = 310 + (grower * 37 + lot * 11 + seed) % 90
        tonnes = 1 + (grower * lot) % 7
        bids.append(f"G{grower:03d};{price}.{lot % 10}0;{tonnes}")
    if lot == 17:
        bids[23] = "G023;312,50 net;4"
    time.sleep(0.1)
    return lot, bids


def parse_bid(text):
    grower, price, tonnes = text.split(";")
    return D(price), D(tonnes), grower


def clear_lot(lot_and_bids, demand=D(60)):
    lot, bids = lot_and_bids
    book = sorted(parse_bid(b) for b in bids)
    volume = D(0)
    for price, tonnes, _ in book:
        volume += tonnes
        if volume >= demand:
            break
    time.sleep(0.1)
    return lot, price, volume


def check_volumes(cleared, minimum):
    short = [lot for lot, _, volume in cleared if volume < minimum]
    return sorted(cleared), short


def settle(number, lots):
    with tempfile.TemporaryDirectory() as folder:
        with AuctionRound(folder, number) as auction:
            cleared = [
                delayed(clear_lot)(delayed(collect_bids)(lot))
                for lot in range(1, lots + 1)
            ]
            [(result, short)] = dask.compute(delayed(check_volumes)(cleared, D(20)))
            auction.note(f"{len(short)} lots are short")
            auction.write(result)
        with open(auction.target) as f:
            print(f.read())


if __name__ == "__main__":
    with LocalCluster(
        n_workers=2, threads_per_worker=1, memory_limit="350MB", dashboard_address=None
    ) as cluster:
        with Client(cluster):
            settle(number=44, lots=24)
