"""Utility poles: inspection results per county. There is a file per crew and day; crews that stayed at home leave
a file with nothing but the header."""

import argparse
import logging
import pathlib

import dask.dataframe as dd
import numpy as np
import pandas as pd
from dask.distributed import Client, LocalCluster

log = logging.getLogger("poles")
COLUMNS = ["pole", "county", "height", "decay", "leaning"]
COUNTIES = ["Anoka", "Cass", "Dakota", "Itasca", "Pine"]


def crew_files(folder, crews, days):
    rng = np.random.default_rng(11)
    folder.mkdir(exist_ok=True)
    for day in range(days):
        for crew in range(crews):
            rows = 0 if (day + crew) % 3 == 0 else int(rng.integers(300, 900))
            frame = pd.DataFrame(
                {
                    "pole": rng.integers(0, 20_000, rows),
                    "county": rng.choice(COUNTIES, rows),
                    "height": rng.normal(11, 1.5, rows).round(1),
                    "decay": rng.random(rows).round(3),
                    "leaning": rng.integers(0, 2, rows),
                },
                columns=COLUMNS,
            )
            frame.to_csv(folder / f"crew{crew:02d}-{day:02d}.csv", index=False)


def grade(frame):
    if frame.empty:
        return frame.assign(grade=pd.Series(dtype="str"))
    labels = np.select(
        [frame["decay"] > 0.9, frame["decay"] > 0.6], ["replace", "treat"], "good"
    )
    return frame.assign(grade=pd.Series(labels, index=frame.index, dtype="str"))


def inspections(folder):
    dtype = {
        "pole": "int64",
        "county": "str",
        "height": "float64",
        "decay": "float64",
        "leaning": "int64",
    }
    table = dd.read_csv(str(folder / "*.csv"), dtype=dtype)
    meta = {**dtype, "grade": "str"}
    return table.map_partitions(grade, meta=meta)


def run(folder, out):
    table = inspections(folder)
    per_county = table.groupby(["county", "grade"])["pole"].count().compute()
    worst = table[(table["grade"] == "replace") & (table["leaning"] == 1)]
    worst = worst[worst["height"] > 14.5].repartition(npartitions=4)
    worst.to_parquet(str(out), write_index=False)
    again = dd.read_parquet(str(out))
    return per_county, len(again)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--crews", type=int, default=9)
    parser.add_argument("--days", type=int, default=8)
    options = parser.parse_args()
    logging.basicConfig(level=logging.INFO)
    folder, out = pathlib.Path("crews"), pathlib.Path("worst")
    crew_files(folder, options.crews, options.days)
    with (
        LocalCluster(
            n_workers=2, threads_per_worker=1, dashboard_address=None
        ) as cluster,
        Client(cluster),
    ):
        per_county, count = run(folder, out)
    for (county, label), number in per_county.sort_index().items():
        log.info("%-8s %-8s %5d", county, label, number)
    log.info("%d poles for the work list", count)


if __name__ == "__main__":
    main()
