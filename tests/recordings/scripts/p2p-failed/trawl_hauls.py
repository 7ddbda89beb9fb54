"""Joins trawl hauls with their catch and writes one table ordered by haul."""

import logging
import tempfile
from pathlib import Path

import dask
import dask.dataframe as dd
import numpy as np
import pandas as pd
from dask.distributed import Client, LocalCluster

log = logging.getLogger("trawl")
VESSELS = ["dana", "solea", "scotia", "tridens", "thalassa", "haakon"]


def cruise_sheets(folder):
    rng = np.random.default_rng(90)
    for n, vessel in enumerate(VESSELS):
        size = 1500
        frame = pd.DataFrame(
            {
                "haul": rng.integers(0, 4000, size),
                "species": rng.choice(["herring", "cod", "whiting", "sprat"], size),
                "weight_kg": rng.gamma(2.0, 20.0, size).round(2),
                "bottom_temp": rng.normal(7.5, 1.0, size).round(2),
            }
        )
        if vessel == "tridens":
            frame["bottom_temp"] = frame["bottom_temp"].astype(object)
            frame.loc[frame.index[-40:], "bottom_temp"] = "n.r."
        frame.to_csv(folder / f"{vessel}.csv", index=False)


def read_sheet(path):
    sheet = pd.read_csv(path)
    sheet["vessel"] = Path(path).stem
    return sheet


SHEET = pd.DataFrame(
    {
        "haul": pd.Series(dtype="i8"),
        "species": pd.Series(dtype="str"),
        "weight_kg": pd.Series(dtype="f8"),
        "bottom_temp": pd.Series(dtype="f8"),
        "vessel": pd.Series(dtype="str"),
    }
)


def main():
    logging.basicConfig(
        level=logging.INFO, format="%(asctime)s %(name)s %(levelname)s %(message)s"
    )
    dask.config.set({"dataframe.shuffle.method": "p2p"})
    with tempfile.TemporaryDirectory() as tmp:
        folder = Path(tmp)
        cruise_sheets(folder)
        with (
            LocalCluster(
                n_workers=2,
                threads_per_worker=1,
                dashboard_address=":0",
                local_directory=tmp,
            ) as cluster,
            Client(cluster),
        ):
            sheets = dd.from_map(
                read_sheet, [str(folder / f"{v}.csv") for v in VESSELS], meta=SHEET
            )
            heavy = sheets[sheets.weight_kg > 1.0]
            by_haul = heavy.shuffle("haul", npartitions=4)
            by_haul.to_parquet(str(folder / "hauls"), write_index=False)
            written = dd.read_parquet(str(folder / "hauls"))
            log.info("%d rows written", len(written))


if __name__ == "__main__":
    main()
