"""Rent roll of a housing association: monthly dues per district and rent band.

The letting system exports one parquet file per estate.  A small reader makes
one partition of each, the bands are completed and the dues are summed up.
"""

import logging
import os
import shutil
import tempfile

import dask
import dask.dataframe as dd
import numpy as np
import pandas as pd
import yaml
from dask.distributed import Client

CONFIG = """
estates: 10
flats_per_estate: 600
bands: [A, B, C, D, E]
default_band: unassigned
districts: [Harbour, Mill Hill, Northgate, Orchard]
workers: 2
"""

BANDS = pd.CategoricalDtype(["A", "B", "C", "D", "E"])

logger = logging.getLogger("rent_roll")


def export_estates(folder, settings):
    """What the letting system does during the evening."""
    rng = np.random.default_rng(7)
    for estate in range(settings["estates"]):
        size = settings["flats_per_estate"]
        frame = pd.DataFrame(
            {
                "flat_id": np.arange(size) + estate * 10_000,
                "district": rng.choice(settings["districts"], size),
                "rent_band": rng.choice(settings["bands"], size),
                "net_rent": rng.normal(710, 120, size).round(2),
            }
        )
        if estate in (3, 6, 8):  # new buildings, handed over this month
            frame.loc[frame.index[-25:], "rent_band"] = None
        frame.to_parquet(os.path.join(folder, f"estate_{estate:02d}.parquet"))


def read_estate(path):
    frame = pd.read_parquet(path)
    frame["rent_band"] = frame["rent_band"].astype(BANDS)
    frame["district"] = frame["district"].astype(object)
    return frame


def complete_bands(frame, default):
    if frame["rent_band"].isna().any():
        frame = frame.copy()
        frame["rent_band"] = frame["rent_band"].fillna(default)
    return frame


def monthly_dues(frame):
    surcharge = {"A": 0.00, "B": 0.02, "C": 0.03, "D": 0.05, "E": 0.08}
    factor = 1 + frame["rent_band"].astype(object).map(surcharge).fillna(0.0).astype(
        float
    )
    return frame.assign(due=(frame["net_rent"] * factor).round(2))


def rent_roll(folder, settings):
    paths = sorted(os.path.join(folder, name) for name in os.listdir(folder))
    meta = read_estate(paths[0]).iloc[:0]
    estates = dd.from_map(read_estate, paths, meta=meta)
    estates = estates.map_partitions(
        complete_bands, settings["default_band"], meta=meta
    )
    dues = estates.map_partitions(
        monthly_dues, meta=meta.assign(due=pd.Series(dtype="float64"))
    )
    by_band = dues.groupby(["district", "rent_band"], observed=True)["due"].sum()
    by_estate = dues["due"].sum()
    return dask.compute(by_band, by_estate)


def main():
    logging.basicConfig(level=logging.INFO)
    settings = yaml.safe_load(CONFIG)
    folder = tempfile.mkdtemp(prefix="estates-")
    export_estates(folder, settings)
    client = Client(
        n_workers=settings["workers"],
        threads_per_worker=1,
        memory_limit="500MB",
        dashboard_address=None,
    )
    try:
        by_band, total = rent_roll(folder, settings)
        logger.info("dues of the month: %.2f EUR", total)
        by_band.to_frame().to_csv("rent_roll.csv")
    finally:
        logger.info("clearing %s", os.path.basename(folder))
        client.close()
        shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    main()
