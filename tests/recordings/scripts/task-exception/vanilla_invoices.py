"""Nightly booking of the growers' vanilla invoices.

The portal drops one CSV file per grower into the inbox.  Each file is claimed,
summed up, converted into euros and then moved to the archive.
"""

from __future__ import annotations

import argparse
import csv
import logging
import os
import random
import sys
import tempfile
import time
from pathlib import Path

import dask
from dask.distributed import Client, LocalCluster, as_completed

log = logging.getLogger("vanilla")

RATES = {"EUR": 1.0, "MGA": 0.00020, "UGX": 0.00025}


def fill_inbox(inbox: Path, growers: int) -> list[Path]:
    """Stand-in for the portal's SFTP drop."""
    rng = random.Random(1906)
    files = []
    for n in range(growers):
        path = inbox / f"grower_{n:03d}.csv"
        with path.open("w", newline="") as handle:
            out = csv.writer(handle, delimiter=";")
            out.writerow(["lot", "grade", "kilos", "amount", "currency"])
            for lot in range(40):
                kilos = rng.randint(2, 60)
                amount = f"{kilos * rng.uniform(180, 260):.2f}"
                if n == 17 and lot == 33:
                    amount = "1.204,50"
                out.writerow(
                    [
                        f"L{n:03d}{lot:02d}",
                        rng.choice("AB"),
                        kilos,
                        amount,
                        "EUR" if n % 3 else "MGA",
                    ]
                )
        files.append(path)
    return files


def lookup_rate(currency: str, cache: Path) -> float:
    """Rate of the day; the first question for a currency warms the cache up."""
    warm = cache / f"{currency}.rate"
    if not warm.exists():
        warm.write_text(str(RATES[currency]))
        raise ConnectionError(f"rate service: no answer for {currency} yet, try again")
    return float(warm.read_text() or RATES[currency])


def claim(path: Path, working: Path) -> Path:
    """Move the file away so that no other run books it too."""
    target = working / path.name
    os.rename(path, target)
    return target


def book_invoices(path: str, area: str) -> dict:
    source, root = Path(path), Path(area)
    probe = "MGA" if int(source.stem[-3:]) % 3 == 0 else "EUR"
    rate = lookup_rate(probe, root / "cache")
    mine = claim(source, root / "working")
    total, kilos = 0.0, 0
    with mine.open(newline="") as handle:
        for row in csv.DictReader(handle, delimiter=";"):
            total += float(row["amount"]) * rate
            kilos += int(row["kilos"])
    time.sleep(0.8)  # the ledger's API is slow
    os.rename(mine, root / "archive" / mine.name)
    return {"file": source.name, "eur": round(total, 2), "kilos": kilos}


def book_everything(
    client: Client, files: list[Path], area: Path
) -> tuple[list[dict], dict[str, str]]:
    futures = {
        client.submit(
            book_invoices, str(f), str(area), key=f"book_invoices-{f.stem}", retries=3
        ): f
        for f in files
    }
    booked, failed = [], {}
    for future in as_completed(futures):
        if future.status == "finished":
            booked.append(future.result())
        else:
            failed[futures[future].name] = str(future.exception())
    return booked, failed


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--growers", type=int, default=24)
    args = parser.parse_args()
    logging.basicConfig(
        level=logging.INFO, format="%(asctime)s %(name)s %(levelname)s %(message)s"
    )

    with tempfile.TemporaryDirectory(prefix="vanilla-") as tmp:
        area = Path(tmp)
        for folder in ("inbox", "working", "archive", "cache", "scratch"):
            (area / folder).mkdir()
        files = fill_inbox(area / "inbox", args.growers)
        log.info("%d files in the inbox", len(files))

        dask.config.set({"temporary-directory": str(area / "scratch")})
        with (
            LocalCluster(
                n_workers=2, threads_per_worker=1, dashboard_address=":0"
            ) as cluster,
            Client(cluster) as client,
        ):
            booked, failed = book_everything(client, files, area)

        log.info(
            "booked %d files, %.2f EUR", len(booked), sum(b["eur"] for b in booked)
        )
        for name, why in sorted(failed.items()):
            log.error("not booked: %s: %s", name, why)
    if failed:
        sys.exit(f"{len(failed)} of {len(files)} invoice files not booked")


if __name__ == "__main__":
    main()
