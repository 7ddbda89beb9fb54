"""Loads of the desert freight caravans, put next to the toll registers for the customs' yearbook.

Loads come from the caravan leaders' tablets, tolls from the oases; both are tables by day.
"""

import logging
import os
import time
from pathlib import Path

import dask.dataframe as dd
import numpy as np
import pandas as pd
from distributed import Client, LocalCluster

logging.basicConfig(level=logging.INFO, format="%(asctime)s %(message)s")
log = logging.getLogger("yearbook")
DAYS = pd.date_range("2026-01-01", periods=240, freq="D")


def prepare(folder):
    folder.mkdir(exist_ok=True)
    rng = np.random.default_rng(5)
    for number, days in enumerate(np.array_split(DAYS, 4)):
        pd.DataFrame(
            {
                "day": days,
                "camels": rng.integers(10, 90, len(days)),
                "salt_kg": rng.normal(4000, 500, len(days)).round(),
            }
        ).to_csv(folder / f"loads_{number}.csv", index=False)
    tolls = pd.DataFrame(
        {"toll": rng.normal(120, 12, len(DAYS)).round(2)},
        index=pd.Index(DAYS, name="day"),
    )
    return tolls


def tablet_status(oasis):
    """The tablets answer at the second try more often than not."""
    marker = Path(f"asked_{oasis}")
    if not marker.exists():
        marker.touch()
        raise TimeoutError(f"tablet of {oasis} did not answer")
    return oasis, os.getpid()


def ask_tablets(client, oases):
    for oasis in oases:
        for attempt in (1, 2):
            try:
                client.submit(tablet_status, oasis, pure=False).result()
            except TimeoutError as error:
                log.warning("attempt %d: %s", attempt, error)
                time.sleep(0.2)
            else:
                break


def load_table(folder):
    loads = dd.read_csv(str(folder / "loads_*.csv"), parse_dates=["day"])
    totals = loads.assign(per_camel=loads["salt_kg"] / loads["camels"])
    log.info("loads: %d days, %.0f kg", len(totals), totals["salt_kg"].sum().compute())
    return totals.set_index("day", sort=False)


def toll_table(tolls):
    table = dd.from_pandas(tolls, npartitions=3)
    log.info("tolls: %.2f", table["toll"].sum().compute())
    return table


def yearbook(loads, tolls):
    by_quarter = loads.repartition(divisions=list(tolls.divisions))
    joined = dd.concat([by_quarter, tolls], axis=1)
    return joined.resample("ME").sum().compute()


def main():
    folder = Path("caravans")
    tolls = prepare(folder)
    with (
        LocalCluster(
            n_workers=2,
            threads_per_worker=1,
            memory_limit="450MB",
            dashboard_address=None,
        ) as cluster,
        Client(cluster) as client,
    ):
        ask_tablets(client, ["siwa", "bilma", "taoudenni"])
        book = yearbook(load_table(folder), toll_table(tolls))
    book.to_csv("yearbook.csv")
    log.info("yearbook of %d months written", len(book))


if __name__ == "__main__":
    main()
