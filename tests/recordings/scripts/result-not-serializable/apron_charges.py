"""Apron charges: what airlines owe for parking on the apron, from the movements of the day.

Every stand's movements go into a small SQLite database of their own in a scratch folder; the driver reads totals out
of it for the invoice run. The scratch folder is sealed with a checksum file when the job is over.
"""

import hashlib
import random
import shutil
import sqlite3
import sys
import tempfile
from contextlib import contextmanager
from pathlib import Path

from distributed import Client, LocalCluster

TARIFF_PER_QUARTER = {"A320": 18.50, "B738": 19.10, "E190": 14.00, "A333": 41.75}


@contextmanager
def scratch(base: Path):
    folder = base / "stands"
    folder.mkdir(parents=True)
    try:
        yield folder
    finally:
        seal(folder, folder / "invoices.csv")
        shutil.rmtree(base)


def seal(folder: Path, invoices: Path) -> None:
    digest = hashlib.sha256(invoices.read_bytes()).hexdigest()
    (folder / "SEAL").write_text(digest)


def movements(stand: str) -> list[tuple]:
    rng = random.Random(stand)
    return [
        (
            stand,
            rng.choice(["KLM", "SAS", "TAP", "LOT"]),
            rng.choice(list(TARIFF_PER_QUARTER)),
            rng.randrange(1, 40),
        )
        for _ in range(60)
    ]


class StandBook:
    """One stand's movements, ready for questions in SQL."""

    def __init__(self, folder: str, stand: str):
        self.stand = stand
        self.connection = sqlite3.connect(
            f"{folder}/{stand}.db", check_same_thread=False
        )
        self.connection.execute(
            "create table movement (stand text, airline text, type text, quarters int)"
        )

    def fill(self, rows) -> "StandBook":
        self.connection.executemany("insert into movement values (?, ?, ?, ?)", rows)
        self.connection.commit()
        return self

    def owed(self) -> dict:
        owed: dict = {}
        for airline, kind, quarters in self.connection.execute(
            "select airline, type, quarters from movement"
        ):
            owed[airline] = owed.get(airline, 0) + quarters * TARIFF_PER_QUARTER[kind]
        return owed


def book_stand(folder: str, stand: str) -> StandBook:
    return StandBook(folder, stand).fill(movements(stand))


def count_movements(book: StandBook) -> int:
    return book.connection.execute("select count(*) from movement").fetchone()[0]


def invoice_run(client: Client, folder: Path) -> None:
    stands = [f"stand{number:02d}" for number in range(6)]
    books = [
        client.submit(book_stand, str(folder), stand, key=f"book-{stand}")
        for stand in stands
    ]
    counts = client.gather([client.submit(count_movements, book) for book in books])
    print(f"{sum(counts)} movements on {len(stands)} stands")
    totals: dict = {}
    for book in client.gather(books):
        for airline, amount in book.owed().items():
            totals[airline] = totals.get(airline, 0) + amount
    with open(folder / "invoices.csv", "w") as out:
        for airline, amount in sorted(totals.items()):
            out.write(f"{airline},{amount:.2f}\n")


def main() -> None:
    base = Path(tempfile.mkdtemp(prefix="apron-"))
    with LocalCluster(
        n_workers=2, threads_per_worker=1, memory_limit="400MB", dashboard_address=None
    ) as cluster:
        with Client(cluster) as client, scratch(base) as folder:
            invoice_run(client, folder)


if __name__ == "__main__":
    sys.exit(main())
