"""Sales of a chain of bistros, region by region.

Regions must not share processes (their books are separate), so each gets a
cluster of its own, one after the other; the head office's summary comes last.
"""

import logging
import sys
from contextlib import contextmanager

import dask
import dask.array as da
import dask.dataframe as dd
import numpy as np
import pandas as pd
from distributed import Client, LocalCluster

logging.basicConfig(level=logging.INFO, format="%(message)s")
log = logging.getLogger("bistro")

REGIONS = {"coast": 5, "valley": 3, "city": 7}


@contextmanager
def books(region, **kwargs):
    options = dict(
        n_workers=2,
        threads_per_worker=1,
        host="127.0.0.1",
        dashboard_address=None,
        memory_limit="300MB",
    )
    options.update(kwargs)
    with LocalCluster(**options) as cluster:
        with Client(cluster) as client:
            log.info("books of %s are open at %s", region, cluster.scheduler_address)
            yield client
    log.info("books of %s are closed", region)


def receipts(bistro, region):
    rng = np.random.default_rng(bistro + 10 * len(region))
    n = 20_000
    return pd.DataFrame(
        {
            "bistro": f"{region}-{bistro}",
            "hour": rng.integers(8, 23, n),
            "dish": rng.choice(["soup", "quiche", "salad", "stew", "tart"], n),
            "amount": rng.gamma(3.0, 4.0, n).round(2),
        }
    )


def region_sales(region, bistros):
    parts = [dask.delayed(receipts)(b, region) for b in range(bistros)]
    frame = dd.from_delayed(parts, meta=receipts(0, region).iloc[:0])
    per_dish = frame.groupby("dish")["amount"].sum()
    per_hour = frame.groupby("hour")["amount"].sum()
    return dask.compute(per_dish, per_hour)


def seasonal(client, values):
    x = da.from_array(np.asarray(values), chunks=5)
    return float((x - x.mean()).std().compute())


def main():
    dishes, hours = [], []
    for region, bistros in REGIONS.items():
        with books(region) as client:
            per_dish, per_hour = region_sales(region, bistros)
            log.info("%s: swing %.1f", region, seasonal(client, per_hour.sort_index()))
        dishes.append(per_dish.rename(region))
        hours.append(per_hour.rename(region))

    table = pd.concat(dishes, axis=1)
    with books("head office", processes=False, n_workers=1, host=None) as client:
        share = client.submit(lambda t: t / t.sum(), table).result()
    print(table.round(0).to_string())
    print(share.round(3).to_string())
    best = table.sum(axis=1).idxmax()
    print("best dish:", best)
    return 0 if table.notna().all().all() else 1


if __name__ == "__main__":
    sys.exit(main())
