"""Hide intake of the tanneries.

Every evening each slaughterhouse drops a CSV of the lots it delivered into
``intake/``.  This job loads them all, sums pieces and weight by grade and
writes the intake sheet that the buyers look at in the morning.
"""

import logging
import random
import shutil
import sys
import tempfile
from pathlib import Path

import dask.dataframe as dd
import pandas as pd
from dask.distributed import Client, LocalCluster

log = logging.getLogger("tannery")

HOUSES = [
    "aldersgate",
    "brampton",
    "cowfold",
    "dunmere",
    "eastlea",
    "fordham",
    "gorsley",
    "hexby",
]

COLUMNS = {"lot": "int64", "pieces": "int64", "grade": "str", "kg": "float64"}


class IntakeError(RuntimeError):
    """The intake sheet could not be made."""


def receive(folder, rng):
    """What the transfer from the slaughterhouses leaves behind."""
    folder.mkdir(parents=True)
    for house in HOUSES:
        lines = ["lot,pieces,grade,kg"]
        for i in range(3000):
            pieces = rng.randint(4, 90)
            kg = round(pieces * rng.uniform(18, 31), 1)
            grade = rng.choice("ABCD")
            counted = str(pieces)
            if house == "fordham" and i in (1711, 1712, 2204):
                # the counter at the belt was being serviced
                counted = ""
            lines.append(f"{10_000 + i},{counted},{grade},{kg}")
        (folder / f"{house}.csv").write_text("\n".join(lines) + "\n")


def read_house(path):
    frame = pd.read_csv(path, dtype=COLUMNS)
    frame["house"] = Path(path).stem
    return frame


def read_price_list(path):
    """Price by grade, by which the sheet is valued."""
    try:
        return pd.read_csv(path).set_index("grade")["price"].to_dict()
    except FileNotFoundError:
        log.warning(
            "no price list for today at %s, valuing with the standing prices", path.name
        )
        return {"A": 2.9, "B": 2.4, "C": 1.7, "D": 0.8}


def value(frame, prices):
    return frame.assign(
        worth=frame["kg"] * frame["grade"].map(prices).astype("float64")
    )


def intake_sheet(folder, prices):
    paths = sorted(str(p) for p in folder.glob("*.csv"))
    meta = pd.DataFrame(
        {
            name: pd.Series(dtype=dtype)
            for name, dtype in {**COLUMNS, "house": "str"}.items()
        }
    )
    lots = dd.from_map(read_house, paths, meta=meta)
    lots = lots.map_partitions(value, prices)
    by_grade = lots.groupby("grade")[["pieces", "kg", "worth"]].sum()
    by_house = lots.groupby("house")["pieces"].sum()
    by_grade, by_house = by_grade.compute(), by_house.compute()
    log.info("pieces by house: %s", by_house.to_dict())
    return by_grade


def main():
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(name)s %(message)s")
    base = Path(tempfile.mkdtemp(prefix="hides-"))
    receive(base / "intake", random.Random(1128))
    try:
        with LocalCluster(
            n_workers=2, threads_per_worker=1, dashboard_address=":0"
        ) as cluster:
            with Client(cluster):
                prices = read_price_list(base / "prices_2026-11-27.csv")
                try:
                    sheet = intake_sheet(base / "intake", prices)
                except Exception as exc:
                    raise IntakeError(
                        "intake sheet of 2026-11-27 not made, buyers keep yesterday's"
                    ) from exc
        sheet.to_csv(sys.stdout)
    finally:
        log.info("clearing %s", base.name)
        shutil.rmtree(base, ignore_errors=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
