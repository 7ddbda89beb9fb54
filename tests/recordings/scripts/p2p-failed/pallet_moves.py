"""Pallet moves of the distribution centres, brought together by pallet to find their idle times."""

import argparse
import logging
import tempfile
import time

import dask
import dask.dataframe as dd
import numpy as np
import pandas as pd
from distributed import Client, LocalCluster

log = logging.getLogger("pallets")

CENTRES = ["leipzig", "venlo", "lille", "brno", "novara", "poznan", "getafe", "linz"]

META = pd.DataFrame(
    {
        "pallet": pd.Series(dtype="int64"),
        "centre": pd.Series(dtype="str"),
        "moved": pd.Series(dtype="datetime64[s]"),
        "gross_kg": pd.Series(dtype="float64"),
    }
)


def export_of(centre, rows):
    """What the scanner server of a centre gives: columns of plain values."""
    rng = np.random.default_rng(CENTRES.index(centre))
    weights = rng.normal(420, 60, rows).round(1)
    table = {
        "pallet": rng.integers(0, 5000, rows),
        "gross_kg": weights,
        "moved": np.datetime64("2026-11-01T00:00:00")
        + rng.integers(0, 1_500_000, rows).astype("timedelta64[s]"),
    }
    if centre == "brno":
        # the scale of gate 3 was being repaired
        table["gross_kg"] = [
            w if n % 211 else "in repair" for n, w in enumerate(weights)
        ]
    return table


def load_centre(centre, rows):
    table = export_of(centre, rows)
    time.sleep(0.2)
    frame = pd.DataFrame(
        {
            "pallet": table["pallet"],
            "centre": centre,
            "moved": table["moved"],
            "gross_kg": table["gross_kg"],
        }
    )
    frame["centre"] = frame["centre"].astype("str")
    return frame


def idle_hours(group):
    ordered = group.sort_values(["pallet", "moved"])
    gaps = ordered.groupby("pallet")["moved"].diff().dt.total_seconds() / 3600
    return pd.DataFrame({"pallet": ordered["pallet"], "idle": gaps.fillna(0.0)})


def moves_by_centre(frame):
    return frame.groupby("centre")["pallet"].count().compute()


def longest_idle(frame, count):
    together = frame.shuffle("pallet", npartitions=6)
    idle = together.map_partitions(
        idle_hours, meta={"pallet": "int64", "idle": "float64"}
    )
    heavy = together.groupby("pallet")["gross_kg"].max()
    worst, heaviest = dask.compute(idle.groupby("pallet")["idle"].max(), heavy)
    return worst.nlargest(count), heaviest


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=6000)
    parser.add_argument("--worst", type=int, default=5)
    args = parser.parse_args()
    logging.basicConfig(
        level=logging.INFO, format="%(asctime)s %(name)s %(levelname)s %(message)s"
    )
    dask.config.set({"dataframe.shuffle.method": "p2p"})

    with tempfile.TemporaryDirectory(prefix="pallets-") as scratch:
        with (
            LocalCluster(
                n_workers=2,
                threads_per_worker=1,
                dashboard_address=":0",
                local_directory=scratch,
            ) as cluster,
            Client(cluster),
        ):
            frame = dd.from_map(load_centre, CENTRES, rows=args.rows, meta=META)
            for centre, moves in moves_by_centre(frame).items():
                log.info("%-8s %6d moves", centre, moves)
            worst, heaviest = longest_idle(frame, args.worst)
            for pallet, hours in worst.items():
                log.info(
                    "pallet %d idle for %.1f h, %.1f kg",
                    pallet,
                    hours,
                    heaviest[pallet],
                )


if __name__ == "__main__":
    main()
