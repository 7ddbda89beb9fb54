"""Book the day's stamp duties into the registry of deeds.

The notaries deliver their deeds as JSON batches.  Tasks compute the duty of every deed and book it into the registry,
a SQLite file that the back office reads; the driver keeps a row about the run itself in the same file.
"""

import datetime
import json
import logging
import sqlite3
import tempfile
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path

import dask
from dask import delayed
from distributed import Client

log = logging.getLogger("duties")

SCHEMA = """
CREATE TABLE runs (day TEXT PRIMARY KEY, started TEXT, ended TEXT, state TEXT, amount REAL);
CREATE TABLE duties (deed TEXT PRIMARY KEY, notary TEXT, amount REAL);
"""
BANDS = [(125_000, 0.0), (250_000, 0.02), (925_000, 0.05), (float("inf"), 0.10)]


def duty_of(price):
    amount, lower = 0.0, 0
    for upper, rate in BANDS:
        amount += max(0, min(price, upper) - lower) * rate
        lower = upper
        if price <= upper:
            break
    return round(amount, 2)


@delayed(pure=False)
def rate_batch(path):
    batch = json.loads(Path(path).read_text())
    good, odd = [], 0
    for deed in batch["deeds"]:
        try:
            good.append((deed["id"], batch["notary"], duty_of(float(deed["price"]))))
        except ValueError:  # "on request", "part exchange": taken by hand
            odd += 1
    return {"notary": batch["notary"], "rows": good, "by_hand": odd}


@delayed(pure=False)
def book_batch(registry, rated):
    with closing(sqlite3.connect(registry, timeout=2.0)) as connection, connection:
        connection.executemany(
            "INSERT OR REPLACE INTO duties VALUES (?, ?, ?)", rated["rows"]
        )
    return {
        "notary": rated["notary"],
        "amount": sum(row[2] for row in rated["rows"]),
        "by_hand": rated["by_hand"],
    }


@dataclass
class DailyRun:
    folder: Path
    day: datetime.date
    registry: Path = field(init=False)

    def __post_init__(self):
        self.registry = self.folder / "registry.db"
        with closing(sqlite3.connect(self.registry)) as connection:
            connection.executescript(SCHEMA)
        for number in range(9):
            deeds = [
                {
                    "id": f"D{number}-{k}",
                    "price": "on request"
                    if k == 7 and number % 4 == 0
                    else 90_000 + 41_000 * k,
                }
                for k in range(20)
            ]
            (self.folder / f"batch_{number}.json").write_text(
                json.dumps({"notary": f"notary {number}", "deeds": deeds})
            )

    def __enter__(self):
        self.connection = sqlite3.connect(self.registry, timeout=5.0)
        self.connection.execute(
            "INSERT INTO runs (day, started, state) VALUES (?, ?, 'running')",
            (self.day.isoformat(), datetime.datetime.now().isoformat()),
        )
        return self

    def __exit__(self, kind, error, trace):
        state = "failed" if kind else "done"
        self.connection.execute(
            "UPDATE runs SET ended = ?, state = ? WHERE day = ?",
            (datetime.datetime.now().isoformat(), state, self.day.isoformat()),
        )
        self.connection.commit()
        self.connection.close()
        log.info("run of %s: %s", self.day, state)

    def book(self):
        batches = sorted(self.folder.glob("batch_*.json"))
        booked = [
            book_batch(str(self.registry), rate_batch(str(path))) for path in batches
        ]
        results = dask.compute(*booked, retries=1)
        total = sum(result["amount"] for result in results)
        self.connection.execute(
            "UPDATE runs SET amount = ? WHERE day = ?", (total, self.day.isoformat())
        )
        return total, sum(result["by_hand"] for result in results)


def main():
    logging.basicConfig(
        level=logging.INFO, format="%(levelname)s %(name)s: %(message)s"
    )
    with tempfile.TemporaryDirectory(prefix="deeds-") as name:
        with Client(
            n_workers=2,
            threads_per_worker=1,
            memory_limit="400MB",
            dashboard_address=":0",
        ):
            with DailyRun(Path(name), datetime.date(2026, 10, 30)) as run:
                total, by_hand = run.book()
        print(f"booked {total:,.2f}, {by_hand} deeds left for the clerks")


if __name__ == "__main__":
    main()
