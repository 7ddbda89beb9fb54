"""Weekly passage counts of tagged eels at the river weirs.

The readers of each river deliver one feed per day. The detections are brought together
by weir (a shuffle), double reads are dropped, and the passages counted.
"""

from __future__ import annotations

import argparse
import logging
import sys
import tempfile
import time

import dask
import dask.dataframe as dd
import numpy as np
import pandas as pd
from dask.distributed import Client, LocalCluster

log = logging.getLogger("eels")

WEIRS = ["hallow", "sluice-2", "millgate", "fishpass-n", "fishpass-s", "tidal-gate"]
RIVERS = ["arrow", "bray", "colne", "dearne"]


def feed_names(days: int) -> list[str]:
    return [f"{river}/{day:02d}" for day in range(days) for river in RIVERS]


def numbers_of_tags(river: str, rng: np.random.Generator, rows: int):
    """Tag numbers as the reader of the river gives them."""
    numbers = rng.integers(100_000, 101_500, rows)
    if river == "dearne":
        return [f"985-{number}" for number in numbers]
    return numbers


def read_feed(name: str, rows: int) -> pd.DataFrame:
    river, day = name.split("/")
    rng = np.random.default_rng(sum(map(ord, name)))
    start = pd.Timestamp("2026-10-01") + pd.Timedelta(days=int(day))
    frame = pd.DataFrame(
        {
            "weir": rng.choice(WEIRS, rows),
            "tag": numbers_of_tags(river, rng, rows),
            "seen": start
            + pd.to_timedelta(np.sort(rng.integers(0, 86_400, rows)), unit="s"),
            "strength": rng.normal(60, 8, rows),
        }
    )
    time.sleep(0.1)
    return frame


def empty_feed() -> pd.DataFrame:
    return read_feed("arrow/00", 2).iloc[:0]


def drop_double_reads(frame: pd.DataFrame, within: str = "90s") -> pd.DataFrame:
    frame = frame.sort_values(["weir", "tag", "seen"])
    gap = frame.groupby(["weir", "tag"])["seen"].diff()
    return frame[gap.isna() | (gap > pd.Timedelta(within))]


def count_passages(frame: pd.DataFrame) -> pd.DataFrame:
    counts = frame.groupby("weir").agg(
        passages=("tag", "size"), strength=("strength", "mean")
    )
    return counts.reset_index()


def weekly_counts(names: list[str], rows: int) -> pd.DataFrame:
    detections = dd.from_map(read_feed, names, rows=rows, meta=empty_feed())
    strong = detections[detections["strength"] > 45]
    by_weir = strong.shuffle(on="weir", npartitions=6)
    passages = by_weir.map_partitions(drop_double_reads).map_partitions(count_passages)
    return passages.compute()


def main(argv: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--days", type=int, default=7)
    parser.add_argument("--rows", type=int, default=4000)
    args = parser.parse_args(argv)
    logging.basicConfig(
        level=logging.INFO, format="%(asctime)s %(levelname)s %(name)s %(message)s"
    )
    dask.config.set({"dataframe.shuffle.method": "p2p"})

    names = feed_names(args.days)
    log.info("%d feeds of %s", len(names), ", ".join(RIVERS))
    with (
        tempfile.TemporaryDirectory(prefix="eels-") as scratch,
        LocalCluster(
            n_workers=2,
            threads_per_worker=1,
            memory_limit="400MiB",
            dashboard_address=":0",
            local_directory=scratch,
        ) as cluster,
        Client(cluster) as client,
    ):
        readable = client.map(lambda name: len(read_feed(name, 50)), names)
        log.info("%d feeds readable", sum(n > 0 for n in client.gather(readable)))
        counts = weekly_counts(names, args.rows)
        log.info("passages:\n%s", counts.to_string(index=False))
    return 0


if __name__ == "__main__":
    sys.exit(main())
