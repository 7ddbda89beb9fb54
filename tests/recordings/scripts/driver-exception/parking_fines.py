"""Adds up the parking fines of the boroughs."""

import logging
import random
import sys
import tempfile
from pathlib import Path

import dask.dataframe as dd
from dask.distributed import Client

logging.basicConfig(
    level=logging.INFO, format="%(asctime)s %(levelname)s %(name)s %(message)s"
)
log = logging.getLogger("parking_fines")

BASE = {1: 15.0, 2: 25.0, 3: 55.0, 4: 70.0}


def write_fines(folder):
    rng = random.Random(9)
    for borough in ("north", "east", "south", "west"):
        rows = ["ticket,offence,minutes,zone"]
        for n in range(400):
            rows.append(
                f"{borough[0].upper()}{n:05d},P{rng.randint(1, 4)}-{rng.randint(10, 99)},{rng.randint(1, 300)},{rng.randint(1, 3)}"
            )
        (folder / f"{borough}.csv").write_text("\n".join(rows) + "\n")


def offence_class(offence):
    return int(offence.split("-")[0].lstrip("P"))


def fine_of(row):
    amount = BASE[offence_class(row["offence"])]
    if row["minutes"] > 180:
        amount *= 1.5
    return amount * (1.2 if row["zone"] == 1 else 1.0)


def main():
    with tempfile.TemporaryDirectory(prefix="fines-") as tmp:
        folder = Path(tmp)
        write_fines(folder)
        with Client(
            processes=False, n_workers=1, threads_per_worker=2, dashboard_address=None
        ):
            fines = dd.read_csv(f"{folder}/*.csv", include_path_column="borough")
            log.info("%d tickets", len(fines))
            fines["amount"] = fines.apply(fine_of, axis=1)
            totals = fines.groupby("borough")["amount"].sum().compute()
            for borough, amount in totals.items():
                log.info("%s %.2f", Path(borough).stem, amount)
    return 0


if __name__ == "__main__":
    sys.exit(main())
