"""Which articles are bought together: the weekly basket profile of a chain of tea rooms.

For each shop the receipts of the week are turned into a table of article pairs.  A shop that cannot be
profiled is skipped and listed, so that the report of the others is not late.
"""

import argparse
import os
import sys
import time

os.environ.setdefault("DASK_DISTRIBUTED__SCHEDULER__ALLOWED_FAILURES", "0")
os.environ.setdefault("DASK_DISTRIBUTED__SCHEDULER__WORKER_SATURATION", "1.0")

import numpy as np
from distributed import Client, LocalCluster

SHOPS = {
    "Bath": 420,
    "Buxton": 380,
    "Harrogate": 5200,
    "Ripon": 350,
    "Skipton": 4900,
    "Whitby": 300,
    "York": 5600,
    "Thirsk": 410,
}


def receipts_of(shop, articles, n=120):
    rng = np.random.default_rng(len(shop) * 31 + articles)
    for _ in range(n):
        yield np.unique(rng.integers(0, articles, rng.integers(2, 9)))


def pair_counts(baskets, articles):
    """Pairs of articles on the same receipt, hour by hour, as full tables."""
    by_hour = []
    baskets = list(baskets)
    for hour in range(9, 18):
        table = np.zeros((articles, articles), dtype="float32")
        step = max(1, articles // 8)
        for first in range(0, articles, step):
            table[first : first + step] += 1e-6  # smoothing
            time.sleep(0.02)
        for basket in baskets[hour - 9 :: 9]:
            table[np.ix_(basket, basket)] += 1
        by_hour.append(table)
    return by_hour


def profile_shop(shop, articles):
    tables = pair_counts(receipts_of(shop, articles), articles)
    week = sum(tables)
    np.fill_diagonal(week, 0)
    best = np.unravel_index(int(week.argmax()), week.shape)
    return shop, tuple(int(i) for i in best), float(week.max())


def profile_all(client, shops):
    futures = {
        shop: client.submit(profile_shop, shop, articles)
        for shop, articles in shops.items()
    }
    good, bad = [], []
    for shop, future in futures.items():
        try:
            good.append(future.result(timeout=45))
            print(f"{shop:<10} ok")
        except Exception as exc:
            bad.append(shop)
            print(f"{shop:<10} skipped ({type(exc).__name__})")
    return good, bad


def main(argv=None):
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--week", default="2026-W44")
    parser.add_argument("--workers", type=int, default=2)
    args = parser.parse_args(argv)

    cluster = LocalCluster(
        n_workers=args.workers,
        threads_per_worker=1,
        memory_limit="360MB",
        dashboard_address=None,
    )
    client = Client(cluster)
    try:
        good, bad = profile_all(client, SHOPS)
    finally:
        client.close()
        cluster.close()
    with open(f"baskets-{args.week}.csv", "w") as f:
        for shop, (a, b), count in good:
            f.write(f"{shop},{a},{b},{count:.0f}\n")
    if bad:
        sys.exit(f"{len(bad)} of {len(SHOPS)} shops failed: {', '.join(bad)}")


if __name__ == "__main__":
    main()
