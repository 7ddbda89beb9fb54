"""Snowfall by district from the mountain stations' daily files.

Each station writes a file a day, whether it snowed or not: in November many
hold a header only.  The table of the avalanche service is rewritten from all.
"""

import random
import sys
import tempfile
from pathlib import Path

import dask.dataframe as dd
import pandas as pd
from dask.distributed import Client, LocalCluster

DISTRICTS = ["Arlberg", "Bernina", "Civetta", "Dachstein"]
TYPES = {"station": "str", "district": "str", "hour": "int64", "cm": "float64"}


def write_stations(folder: Path, stations: int = 24, days: int = 3) -> int:
    rng = random.Random(1)
    empty = 0
    for station in range(stations):
        district = DISTRICTS[station % len(DISTRICTS)]
        for day in range(days):
            rows = ["station,district,hour,cm"]
            # it snowed above the tree line only
            if station % 3:
                for hour in range(24):
                    rows += [
                        f"S{station:02d},{district},{hour},{rng.uniform(0, 4):.1f}"
                    ] * 20
            else:
                empty += 1
            (folder / f"s{station:02d}_d{day}.csv").write_text("\n".join(rows) + "\n")
    return empty


def heavy(part: pd.DataFrame) -> pd.DataFrame:
    """Readings of heavy snow, with the class of the warning service."""
    part = part[part["cm"] >= 2.0]
    return part.assign(
        level=pd.cut(part["cm"], [0, 2.5, 3.5, 9], labels=False).astype("float64")
    )


def run(folder: Path) -> pd.DataFrame:
    readings = dd.read_csv(str(folder / "s*.csv"), dtype=TYPES)
    meta = readings._meta.assign(level=pd.Series(dtype="float64"))
    strong = readings.map_partitions(heavy, meta=meta)
    # nobody skis in the Civetta before Christmas
    strong = strong[strong.district != "Civetta"]
    target = folder / "strong.parquet"
    strong.to_parquet(str(target), write_index=False)
    again = dd.read_parquet(str(target))
    by_district = again.groupby("district").agg(
        {"cm": ["count", "max"], "level": "mean"}
    )
    return by_district.compute()


def main() -> int:
    with tempfile.TemporaryDirectory(prefix="snow") as name:
        folder = Path(name)
        empty = write_stations(folder)
        print(f"{empty} stations' files without snow")
        with LocalCluster(
            n_workers=2, threads_per_worker=1, dashboard_address=":0"
        ) as cluster:
            with Client(cluster):
                table = run(folder)
    print(table.round(2).to_string())
    assert sorted(table.index) == ["Arlberg", "Bernina", "Dachstein"], table
    return 0


if __name__ == "__main__":
    sys.exit(main())
