"""Rents of the paddocks, parish after parish.

The valuation of a parish is short; between two of them the land agent's old
register is read line by line in this process, and letters are set.
"""

import argparse
import hashlib
import time

import dask
import dask.array as da
import numpy as np
from dask.distributed import Client, LocalCluster

PARISHES = ["st_anne", "st_botolph", "holy_cross", "all_saints", "st_mary"]


@dask.delayed
def acreage(parish):
    seed = int(hashlib.sha256(parish.encode()).hexdigest()[:8], 16)
    return np.random.default_rng(seed).uniform(0.5, 6, 4000)


def valuation(parish, rate):
    area = da.from_delayed(acreage(parish), (4000,), dtype=float).rechunk(1000)
    quality = da.linspace(0.7, 1.3, 4000, chunks=1000)
    rents = area * quality * rate
    return dask.compute(rents.sum(), rents.max())


def register_lines(parish):
    """The old register: one line at a time, as the tape gives them."""
    for n in range(60):
        time.sleep(0.04)
        yield f"{parish};{n};{hashlib.md5(f'{parish}{n}'.encode()).hexdigest()}"


def match(lines):
    tenants = set()
    for line in lines:
        tenants.add(line.rsplit(";", 1)[1][:6])
        sum(i * i for i in range(15_000))
    return len(tenants)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--rate", type=float, default=85.0)
    args = parser.parse_args()
    report = []
    with (
        LocalCluster(
            n_workers=2,
            threads_per_worker=1,
            memory_limit="300MB",
            dashboard_address=None,
        ) as cluster,
        Client(cluster),
    ):
        for parish in PARISHES:
            total, highest = valuation(parish, args.rate)
            tenants = match(register_lines(parish))
            report.append((parish, total, highest, tenants))
    for parish, total, highest, tenants in report:
        print(f"{parish:12} {total:14,.2f} {highest:10,.2f} {tenants:4d} tenants")


if __name__ == "__main__":
    main()
