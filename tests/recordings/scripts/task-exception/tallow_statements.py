"""Reads the nightly statements of the soap factory's banks.

Every bank has its own export.  A statement is fetched, parsed and booked into
accounts; the sums per account go to the ledger.
"""

import io
import json
import logging
import sys
import time
from dataclasses import dataclass
from pathlib import Path

import pandas as pd
from dask.distributed import Client, as_completed

logging.basicConfig(level=logging.INFO, stream=sys.stdout)
log = logging.getLogger("statements")


class StatementRunFailed(Exception):
    """The run as a whole did not come to an end."""


@dataclass(frozen=True)
class Source:
    bank: str
    path: str
    required: bool = True


def write_inputs(root: Path) -> list[Source]:
    root.mkdir(exist_ok=True)
    sources = []
    customers = [
        "Marsh & Co",
        "Candle Works",
        "Müller Söhne",
        "Ålesund Fisk",
        "Renard Frères",
    ]
    for number, bank in enumerate(
        ["aldgate", "bremer", "clydesdale", "dunant", "esbjerg", "fleet"]
    ):
        rows = ["account;customer;amount"]
        for n in range(1500):
            who = customers[n % (2 if number < 3 else 5)]
            rows.append(f"{4000 + n % 12};{who};{(n * 37 % 901) / 10 - 20}")
        path = root / f"{bank}_20261127.csv"
        # esbjerg changed its bank system last week-end
        path.write_bytes(
            "\n".join(rows).encode("cp1252" if bank == "esbjerg" else "utf-8")
        )
        sources.append(Source(bank, str(path)))
    sources.append(
        Source("guernsey", str(root / "guernsey_20261127.csv"), required=False)
    )
    return sources


def load_statement(source: Source) -> pd.DataFrame:
    time.sleep(0.2)
    with open(source.path, encoding="utf-8") as file:
        text = file.read()
    frame = pd.read_csv(io.StringIO(text), sep=";")
    frame["bank"] = source.bank
    return frame


def book(frame: pd.DataFrame) -> pd.DataFrame:
    frame = frame[frame["amount"] != 0]
    return frame.groupby(["bank", "account"], as_index=False)["amount"].sum()


class StatementRun:
    def __init__(self, client, sources):
        self.client = client
        self.sources = sources
        self.booked = {}

    def run(self):
        loaded = self.client.map(
            load_statement,
            self.sources,
            retries=1,
            key=[f"load-{s.bank}" for s in self.sources],
        )
        booked = self.client.map(book, loaded)
        of = dict(zip((f.key for f in booked), self.sources))
        for future in as_completed(booked):
            source = of[future.key]
            try:
                self.booked[source.bank] = future.result()
            except FileNotFoundError as error:
                if source.required:
                    raise
                log.warning("%s has sent nothing: %s", source.bank, error)
            except Exception as error:
                raise StatementRunFailed(
                    f"bank {source.bank}: ledger not written"
                ) from error
        return pd.concat(self.booked.values())

    def report(self):
        Path("state.json").write_text(json.dumps({"done": sorted(self.booked)}))


def main():
    sources = write_inputs(Path("statements"))
    with Client(n_workers=2, threads_per_worker=1, dashboard_address=None) as client:
        run = StatementRun(client, sources)
        try:
            ledger = run.run()
        finally:
            run.report()
        ledger.to_csv("ledger.csv", index=False)
        log.info("ledger of %d lines", len(ledger))


if __name__ == "__main__":
    try:
        main()
    except StatementRunFailed as failure:
        log.exception("run failed: %s", failure)
        sys.exit(3)
