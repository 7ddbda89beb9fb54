"""Loads the volunteers' sheets of beaver dams into the survey database."""

import csv
import logging
import random
import sqlite3
import sys
import tempfile
from pathlib import Path

from dask.distributed import Client

logging.basicConfig(level=logging.INFO, format="%(asctime)s %(levelname)s %(message)s")
log = logging.getLogger("beaver_dams")

RIVERS = ["elbe", "havel", "mulde", "oder", "saale", "spree"]


def write_sheets(folder):
    rng = random.Random(11)
    sheets = []
    for river in RIVERS:
        path = folder / f"{river}.csv"
        with path.open("w", newline="") as sink:
            writer = csv.writer(sink)
            writer.writerow(["dam", "observed", "length_m"])
            for n in range(120):
                dam = f"{river[:2].upper()}{n:04d}"
                if river == "saale" and n == 87:
                    dam = "SA0031"
                writer.writerow(
                    [
                        dam,
                        f"2026-0{rng.randint(3, 9)}-1{rng.randint(0, 9)}",
                        rng.randint(2, 70),
                    ]
                )
        sheets.append(path)
    return sheets


def load_sheet(path, database_folder):
    """One database a river; returns how many dams it has."""
    river = Path(path).stem
    connection = sqlite3.connect(Path(database_folder) / f"{river}.db", timeout=20)
    try:
        connection.execute(
            f"CREATE TABLE dams_{river} (dam TEXT PRIMARY KEY, observed TEXT, length_m REAL)"
        )
        with open(path, newline="") as source, connection:
            for row in csv.DictReader(source):
                connection.execute(
                    f"INSERT INTO dams_{river} VALUES (?, ?, ?)",
                    (row["dam"], row["observed"], row["length_m"]),
                )
        return connection.execute(f"SELECT count(*) FROM dams_{river}").fetchone()[0]
    finally:
        connection.close()


def total_length(count, river, database_folder):
    connection = sqlite3.connect(Path(database_folder) / f"{river}.db")
    try:
        metres = connection.execute(
            f"SELECT sum(length_m) FROM dams_{river}"
        ).fetchone()[0]
    finally:
        connection.close()
    return river, count, metres


def main():
    with tempfile.TemporaryDirectory(prefix="beavers-") as tmp:
        folder = Path(tmp)
        sheets = write_sheets(folder)
        with Client(
            n_workers=2,
            threads_per_worker=1,
            dashboard_address=":0",
            memory_limit="400MB",
        ) as client:
            futures = []
            for sheet in sheets:
                count = client.submit(
                    load_sheet,
                    str(sheet),
                    tmp,
                    key=f"load_sheet-{sheet.stem}",
                    retries=3,
                )
                futures.append(
                    client.submit(
                        total_length,
                        count,
                        sheet.stem,
                        tmp,
                        key=f"total_length-{sheet.stem}",
                    )
                )
            for river, count, metres in client.gather(futures):
                log.info("%s: %d dams, %.0f m", river, count, metres)
    return 0


if __name__ == "__main__":
    sys.exit(main())
