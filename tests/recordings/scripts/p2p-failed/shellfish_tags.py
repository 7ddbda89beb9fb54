"""Growth of tagged shellfish: all beaches' finds, regrouped by tag."""

import argparse
import logging
import sys
import tempfile
import time
from pathlib import Path

import dask
import dask.dataframe as dd
import numpy as np
import pandas as pd
from dask.distributed import Client, LocalCluster

log = logging.getLogger("shellfish")

BEACHES = [
    "arne",
    "brough",
    "culzean",
    "dunlin",
    "eriskay",
    "filey",
    "gruinard",
    "hythe",
]
META = pd.DataFrame(
    {
        "tag": pd.Series(dtype="int64"),
        "beach": pd.Series(dtype="object"),
        "weight": pd.Series(dtype="float64"),
        "length": pd.Series(dtype="float64"),
    }
)


def write_finds(folder: Path, rows: int) -> None:
    """What the wardens hand in, one sheet a beach."""
    for n, beach in enumerate(BEACHES):
        rng = np.random.default_rng(n)
        frame = pd.DataFrame(
            {
                "tag": rng.integers(0, 5000, rows),
                "weight": rng.normal(38, 6, rows).round(2),
                "length": rng.normal(61, 9, rows).round(1),
            }
        )
        if beach == "filey":
            # their new scale prints its unit
            frame["weight"] = frame["weight"].map("{:.2f} g".format)
        frame.to_csv(folder / f"{beach}.csv", index=False)


def read_beach(path):
    time.sleep(0.4)
    path = Path(path)
    frame = pd.read_csv(path)
    frame["beach"] = path.stem
    frame["tag"] = frame["tag"].astype("int64")
    return frame[list(META.columns)]


def growth(frame):
    """Gain between first and last find of every tag in the partition."""
    if frame.empty:
        return pd.DataFrame({"gain": pd.Series(dtype="float64")})
    by_tag = frame.sort_values("length").groupby("tag")["length"]
    return pd.DataFrame({"gain": by_tag.last() - by_tag.first()})


def headline(client, finds):
    total = finds["tag"].size.compute()
    longest = finds["length"].max().compute()
    log.info("%d finds, longest %.1f mm", total, longest)


def main(argv=None):
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=12_000)
    parser.add_argument("--partitions", type=int, default=6)
    args = parser.parse_args(argv)
    logging.basicConfig(
        level=logging.INFO, format="%(asctime)s %(name)s %(levelname)s %(message)s"
    )
    dask.config.set(
        {"dataframe.shuffle.method": "p2p", "dataframe.convert-string": False}
    )

    with tempfile.TemporaryDirectory(prefix="shellfish-") as tmp:
        folder = Path(tmp) / "finds"
        folder.mkdir()
        write_finds(folder, args.rows)
        with (
            LocalCluster(
                n_workers=2,
                threads_per_worker=1,
                memory_limit="400MiB",
                dashboard_address=":0",
                local_directory=tmp,
            ) as cluster,
            Client(cluster) as client,
        ):
            paths = [str(folder / f"{b}.csv") for b in BEACHES]
            finds = dd.from_map(read_beach, paths, meta=META)
            headline(client, finds)
            by_tag = finds.shuffle("tag", npartitions=args.partitions)
            gains = by_tag.map_partitions(growth, meta={"gain": "float64"})
            table = gains.compute()
            log.info("%d tags, mean gain %.2f mm", len(table), table["gain"].mean())
            per_beach = by_tag.groupby("beach")["weight"].mean().compute()
            log.info("weights: %s", per_beach.round(1).to_dict())
    return 0


if __name__ == "__main__":
    sys.exit(main())
