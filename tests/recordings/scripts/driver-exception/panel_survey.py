"""Bring the full survey panel to the report writer."""

import resource
import sys

import numpy as np
import pandas as pd
import dask.dataframe as dd
from dask.distributed import Client, LocalCluster


def wave(number):
    rng = np.random.default_rng(number)
    n = 200_000
    return pd.DataFrame({f"q{i}": rng.random(n) for i in range(12)})


def cap_report_process():
    used = int(open("/proc/self/statm").read().split()[0]) * resource.getpagesize()
    cap = used + 150 * 2**20
    resource.setrlimit(resource.RLIMIT_AS, (cap, resource.RLIM_INFINITY))


def main():
    with LocalCluster(
        n_workers=2, threads_per_worker=1, memory_limit="1.5GB", dashboard_address=None
    ) as cluster:
        with Client(cluster) as client:
            cap_report_process()
            panel = dd.from_map(wave, range(10))
            print("mean answer:", float(panel.q3.mean().compute()))
            full = client.compute(panel).result(timeout=8)
            print(full.describe())
            print(sys.getsizeof(full))


if __name__ == "__main__":
    main()
