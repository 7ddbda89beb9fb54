"""Bleaching index of the coral samples, normalised per reef."""

import argparse
import logging

import dask.dataframe as dd
import numpy as np
import pandas as pd
from dask.distributed import Client, LocalCluster

log = logging.getLogger("corals")
REEFS = ["Osprey", "Ribbon", "Flynn", "Agincourt", "Opal"]


def sample_sheet(reef):
    rng = np.random.default_rng(len(reef) * 11)
    sheet = pd.DataFrame(
        {
            "reef": reef,
            "colony": np.arange(120),
            "white": rng.uniform(0, 60, 120),
            "area": rng.uniform(80, 200, 120),
        }
    )
    if reef == "Flynn":
        sheet.loc[44:46, "white"] = [210.0, 305.5, 190.0]
        sheet.loc[44:46, "area"] = [150.0, 180.0, 120.0]
    return sheet


def check_fraction(fraction):
    if fraction.max() > 1:
        raise ArithmeticError("bleached fraction above 1")


def bleaching(sheet):
    fraction = sheet["white"] / sheet["area"]
    try:
        check_fraction(fraction)
    except ArithmeticError as exc:
        exc.add_note(f"reef: {sheet['reef'].iloc[0]}")
        exc.add_note(f"colonies: {sheet.loc[fraction > 1, 'colony'].tolist()}")
        raise
    return sheet.assign(index=(fraction * 100).round(1))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--top", type=int, default=5)
    args = parser.parse_args()
    logging.basicConfig(level=logging.INFO)
    with (
        LocalCluster(
            n_workers=2, threads_per_worker=1, dashboard_address=None
        ) as cluster,
        Client(cluster),
    ):
        meta = sample_sheet("Opal").iloc[:0]
        samples = dd.from_map(sample_sheet, REEFS, meta=meta)
        indexed = samples.map_partitions(
            bleaching, meta=meta.assign(index=pd.Series(dtype="f8"))
        )
        worst = indexed.nlargest(args.top, "index").compute()
        log.info("worst colonies: %d", len(worst))
        print(worst.to_string(index=False))


if __name__ == "__main__":
    main()
