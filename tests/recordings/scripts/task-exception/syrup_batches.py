"""Nightly intake of the tank logs of the syrup plant.

Every tank leaves one CSV in the inbox. A task claims the file (moves it to the
work folder, so that no other intake takes it too), reads it and books litres
of syrup. At the end one line per tank goes to the ledger.
"""

import argparse
import csv
import logging
import os
import sys
import tempfile
import time
from pathlib import Path

from distributed import Client, LocalCluster, as_completed

log = logging.getLogger("syrup")

TANKS = {
    "tank01": ["310.5 l", "298.0 l", "305.2 l"],
    "tank02": ["287.0 l", "290.5 l", "288.8 l"],
    "tank03": ["412.0 l", "409.5 l", "411.1 l"],
    "tank04": ["150.0 l", "152.2 l", "149.9 l"],
    "tank05": ["333.3 l", "331.0 l", "335.6 l"],
    "tank06": ["275.0 l", "2.76 hl", "274.2 l"],
    "tank07": ["198.0 l", "201.1 l", "199.5 l"],
    "tank08": ["245.5 l", "244.0 l", "246.3 l"],
    "tank09": ["301.0 l", "300.2 l", "299.0 l"],
    "tank10": ["188.8 l", "187.2 l", "190.0 l"],
}


def fill_inbox(inbox):
    """What the plant's SFTP drop leaves behind at midnight."""
    for tank, volumes in TANKS.items():
        with open(inbox / f"{tank}.csv", "w", newline="") as out:
            rows = csv.writer(out)
            rows.writerow(["hour", "volume"])
            rows.writerows((f"{4 * i:02d}:00", v) for i, v in enumerate(volumes))


def litres(text):
    number, unit = text.split()
    if unit != "l":
        raise ValueError(f"volume {text!r} is not in litres")
    return float(number)


def claim(path, work):
    target = Path(work) / Path(path).name
    os.rename(path, target)
    return target


def intake(path, work):
    mine = claim(path, work)
    time.sleep(1.8)
    with open(mine, newline="") as src:
        volumes = [litres(row["volume"]) for row in csv.DictReader(src)]
    mine.unlink()
    return {
        "tank": mine.stem,
        "litres": round(sum(volumes), 1),
        "readings": len(volumes),
    }


def run_intake(client, inbox, work):
    booked, absent = [], []
    paths = sorted(str(p) for p in inbox.glob("*.csv"))
    log.info("%d files in the inbox", len(paths))
    futures = {
        client.submit(intake, path, str(work), retries=2, pure=False): path
        for path in paths
    }
    for future in as_completed(futures):
        name = Path(futures[future]).name
        try:
            booked.append(future.result())
            log.info("%s booked", name)
        except FileNotFoundError:
            absent.append(name)
    return booked, absent


def write_ledger(rows, path):
    with open(path, "w", newline="") as out:
        ledger = csv.DictWriter(out, ["tank", "litres", "readings"])
        ledger.writeheader()
        ledger.writerows(sorted(rows, key=lambda r: r["tank"]))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--workers", type=int, default=2)
    args = parser.parse_args()
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(name)s %(message)s")

    with tempfile.TemporaryDirectory(prefix="syrup-") as root:
        inbox, work = Path(root, "inbox"), Path(root, "work")
        inbox.mkdir()
        work.mkdir()
        fill_inbox(inbox)
        with LocalCluster(
            n_workers=args.workers,
            threads_per_worker=1,
            memory_limit="250MB",
            dashboard_address="127.0.0.1:0",
        ) as cluster:
            with Client(cluster) as client:
                booked, absent = run_intake(client, inbox, work)
        write_ledger(booked, Path(root, "ledger.csv"))
        log.info("%d tanks in the ledger", len(booked))
    if absent:
        sys.exit(f"not in the inbox: {', '.join(absent)}; ledger incomplete")


if __name__ == "__main__":
    main()
