"""Archives a lift manufacturer's telemetry: one small CSV file per lift and day, many of them with a header only.

Lifts that stood still send a file without lines. The archive is one parquet folder, and a summary by building.
"""

import logging
import sys
import tempfile
from pathlib import Path

import numpy as np
import pandas as pd

import dask.dataframe as dd
from distributed import Client, LocalCluster

log = logging.getLogger("lifts")
DTYPES = {
    "lift": "int64",
    "building": "int64",
    "trip": "int64",
    "load_kg": "float64",
    "seconds": "float64",
}


def drop_zone(folder: Path, lifts: int) -> int:
    """Stands in for the gateway's upload."""
    rng = np.random.default_rng(21)
    quiet = 0
    for lift in range(lifts):
        trips = 0 if lift % 4 == 3 else int(rng.integers(100, 900))
        quiet += trips == 0
        pd.DataFrame(
            {
                "lift": np.full(trips, lift),
                "building": np.full(trips, lift // 6),
                "trip": np.arange(trips),
                "load_kg": rng.gamma(2, 80, trips),
                "seconds": rng.gamma(3, 7, trips),
            }
        ).to_csv(folder / f"lift-{lift:04d}.csv", index=False)
    return quiet


def flag_overload(part: pd.DataFrame, limit: float) -> pd.DataFrame:
    if part.empty:
        return part.assign(overload=pd.Series(dtype=bool))
    return part.assign(overload=part["load_kg"] > limit)


def archive(source: Path, target: Path):
    frame = dd.read_csv(str(source / "lift-*.csv"), dtype=DTYPES, blocksize=None)
    log.info("%d files", frame.npartitions)
    meta = frame._meta.assign(overload=pd.Series(dtype=bool))
    frame = frame.map_partitions(flag_overload, 450.0, meta=meta)
    frame.to_parquet(target, write_index=False)
    return dd.read_parquet(target)


def summary(stored) -> pd.DataFrame:
    by_building = stored.groupby("building").agg(
        {"trip": "count", "seconds": "sum", "overload": "sum"}
    )
    return by_building.compute().sort_index()


def main() -> int:
    logging.basicConfig(
        level=logging.INFO, format="%(asctime)s %(levelname)s %(message)s"
    )
    with tempfile.TemporaryDirectory(prefix="lifts-") as name:
        source, target = Path(name) / "in", Path(name) / "archive"
        source.mkdir()
        quiet = drop_zone(source, lifts=60)
        log.info("%d lifts stood still", quiet)
        with LocalCluster(
            n_workers=2,
            threads_per_worker=1,
            memory_limit="500MB",
            dashboard_address=None,
        ) as cluster:
            with Client(cluster):
                stored = archive(source, target)
                table = summary(stored)
        table.to_csv("buildings.csv")
        log.info(
            "%d buildings, %d trips, %d overloads",
            len(table),
            table["trip"].sum(),
            table["overload"].sum(),
        )
        if not len(table):
            return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
