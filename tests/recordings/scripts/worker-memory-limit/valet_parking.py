"""Valet parking: which tickets belong to which exits of the car park.

Entries come from the valets' tablets, exits from the barriers' cameras; they
are matched by number plate, and then by time.
"""

import argparse
import logging
import pathlib
import sys
import tempfile
import time

import dask
import dask.dataframe as dd
import numpy as np
import pandas as pd
from dask.distributed import Client, KilledWorker, LocalCluster

logger = logging.getLogger("valet")


def plates(rng, n, unread):
    """Plates as a camera reads them; what it cannot read is a row of dashes."""
    letters = rng.integers(0, 26**3, n)
    digits = rng.integers(0, 1000, n)
    made = [f"{a:05d}-{d:03d}" for a, d in zip(letters, digits)]
    for i in np.flatnonzero(rng.random(n) < unread):
        made[i] = "---------"
    return made


def write_night(folder, levels=6, size=12_000):
    """Entries by level and all exits, as the night leaves them."""
    rng = np.random.default_rng(2026)
    for level in range(levels):
        entries = pd.DataFrame(
            {
                "plate": plates(rng, size, 0.5 if level in (2, 3) else 0.0005),
                "entered": pd.Timestamp("2026-11-27 17:00")
                + pd.to_timedelta(rng.integers(0, 18_000, size), unit="s"),
                "ticket": np.arange(size) + level * size,
                "level": level,
            }
        )
        entries.to_parquet(folder / f"entries_{level}.parquet", index=False)
    exits = pd.DataFrame(
        {
            "plate": plates(rng, 40_000, 0.2),
            "left": pd.Timestamp("2026-11-27 22:00")
            + pd.to_timedelta(rng.integers(0, 18_000, 40_000), unit="s"),
            "barrier": rng.integers(1, 5, 40_000),
            "fee": rng.uniform(4, 60, 40_000).round(2),
        }
    )
    exits.to_parquet(folder / "exits.parquet", index=False)


def match_level(entries, exits):
    """Pairs of entry and exit that can be one stay."""
    stays = entries.merge(exits, on="plate", how="inner")
    stays = stays[stays["left"] > stays["entered"]]
    stays["stay"] = (stays["left"] - stays["entered"]).dt.total_seconds() / 3600
    return stays.sort_values("stay").drop_duplicates("ticket")


def nightly_stays(folder):
    exits = pd.read_parquet(folder / "exits.parquet")
    entries = dd.read_parquet(str(folder / "entries_*.parquet"))
    meta = match_level(entries._meta, exits.head(0))
    stays = entries.map_partitions(match_level, dask.delayed(exits), meta=meta)
    return stays.groupby("level").agg({"fee": "sum", "stay": "mean"})


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--memory", default="400MB")
    parser.add_argument("--attempts", type=int, default=1)
    options = parser.parse_args()
    logging.basicConfig(level=logging.INFO)
    # a night with a flaky host must not be tried for hours
    dask.config.set({"distributed.scheduler.allowed-failures": 1})
    folder = pathlib.Path(tempfile.mkdtemp(prefix="valet-"))
    write_night(folder)
    cluster = LocalCluster(
        n_workers=2,
        threads_per_worker=1,
        memory_limit=options.memory,
        dashboard_address=None,
    )
    client = Client(cluster)
    try:
        for attempt in range(options.attempts + 1):
            try:
                print(nightly_stays(folder).compute())
                return 0
            except KilledWorker as exc:
                logger.error("attempt %d: %s", attempt + 1, str(exc)[:120])
                time.sleep(1)
    finally:
        client.close()
        cluster.close()
    logger.error("no stays tonight, invoices go out by hand")
    return 4


if __name__ == "__main__":
    sys.exit(main())
