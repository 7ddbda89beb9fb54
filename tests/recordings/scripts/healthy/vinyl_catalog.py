"""Vinyl catalogue: merge two dealers' lists; the old data makes a lot of noise."""

import logging
import warnings

import numpy as np
import pandas as pd
import dask.dataframe as dd
from dask.distributed import Client

log = logging.getLogger("catalog")


def dealer(seed, rows=2000):
    rng = np.random.default_rng(seed)
    return pd.DataFrame(
        {
            "record": rng.permutation(rows),
            "price": rng.uniform(3, 80, rows).round(2),
            "pressing": rng.choice(["UK", "US", "DE", "??"], rows),
        }
    )


def clean(part):
    odd = int((part.pressing == "??").sum())
    if odd:
        logging.getLogger("catalog").error("FATAL pressing of %d records unknown", odd)
        warnings.warn(f"{odd} records without a pressing")
    with np.errstate(divide="warn"):
        part = part.assign(ratio=part.price / part.price.where(part.price > 4, 0))
    return part.replace([np.inf, -np.inf], np.nan)


def main():
    logging.basicConfig(level=logging.INFO)
    with Client(n_workers=2, threads_per_worker=1, dashboard_address=":0"):
        left = dd.from_pandas(dealer(1), npartitions=4).map_partitions(clean)
        right = dd.from_pandas(dealer(2), npartitions=3).map_partitions(clean)
        both = left.merge(right, on="record", suffixes=("_a", "_b"))
        cheaper = both[both.price_a < both.price_b]
        log.warning("Traceback of yesterday's error is in the ticket, ignore it")
        print(len(cheaper), float(both.price_a.sum().compute().round(2)))


if __name__ == "__main__":
    main()
