"""Finds suppliers that are registered twice, in the register of a group of hospitals.

Candidates are pairs with the same postcode; names of a pair are then compared by a cheap distance.
"""

import contextlib
import logging
import sys

import numpy as np
import pandas as pd

import dask.dataframe as dd
from distributed import Client, LocalCluster
from dask.utils import format_bytes

log = logging.getLogger("vendors")


def region(number: int, size: int) -> pd.DataFrame:
    """Stands in for the ERP's export of a region."""
    rng = np.random.default_rng(number)
    post = rng.integers(10_000, 99_999, size)
    if number == 3:
        post[:] = 0  # the region changed to a new address module last night
    return pd.DataFrame(
        {
            "vendor": np.arange(size) + number * 10_000_000,
            "postcode": post,
            "length": rng.integers(5, 60, size),
            "letters": rng.integers(0, 2**20, size),
        }
    )


def pair_up(left: pd.DataFrame) -> pd.DataFrame:
    small = left[["vendor", "postcode", "length", "letters"]]
    pairs = small.merge(small, on="postcode", suffixes=("", "_other"))
    pairs = pairs[pairs["vendor"] < pairs["vendor_other"]]
    distance = (pairs["length"] - pairs["length_other"]).abs()
    same = (pairs["letters"] ^ pairs["letters_other"]) < 64
    return pairs[(distance <= 1) & same][["vendor", "vendor_other"]]


@contextlib.contextmanager
def compute_cluster(**options):
    cluster = LocalCluster(dashboard_address=None, **options)
    client = Client(cluster)
    try:
        yield client
    finally:
        used = sum(
            w["metrics"]["memory"] for w in client.scheduler_info()["workers"].values()
        )
        log.info("closing, workers hold %s", format_bytes(used))
        client.close()
        cluster.close()


def main() -> int:
    logging.basicConfig(level=logging.INFO, format="%(levelname)s %(message)s")
    sizes = [90_000, 60_000, 75_000, 1_200_000, 80_000]
    with compute_cluster(
        n_workers=2, threads_per_worker=1, memory_limit="500MB"
    ) as client:
        log.info("on %s", client.scheduler.address)
        register = dd.from_map(region, range(len(sizes)), sizes)
        meta = {"vendor": "int64", "vendor_other": "int64"}
        pairs = register.map_partitions(pair_up, meta=meta)
        try:
            found = pairs.compute()
        except Exception as exc:
            log.error("duplicate check did not finish: %s", type(exc).__name__)
            raise SystemExit(3) from exc
        found.to_csv("duplicates.csv", index=False)
        log.info("%d pairs to look at", len(found))
    return 0


if __name__ == "__main__":
    sys.exit(main())
