"""Compute beacon ranges; one site is always slow."""

import sys
import time
import warnings

import numpy as np
from dask.distributed import Client, LocalCluster


def ranges(site):
    rng = np.random.default_rng(site)
    if site == 4:
        warnings.warn(
            "site 4: clock drift above tolerance, using fallback solver", RuntimeWarning
        )
        time.sleep(9)
    signal = rng.normal(size=1000)
    with np.errstate(invalid="ignore"):
        logs = np.log(signal)
    return site, round(float(np.nanmean(logs)), 4)


def main():
    with (
        LocalCluster(
            n_workers=2, threads_per_worker=1, dashboard_address=None
        ) as cluster,
        Client(cluster) as client,
    ):
        table = dict(client.gather(client.map(ranges, range(12))))
    print("WARNING: deprecated report format", file=sys.stderr)
    print(table)
    sys.exit(0)


if __name__ == "__main__":
    main()
