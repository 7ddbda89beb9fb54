"""Collect half-hourly meter readings from the regional collectors."""

import dask
import dask.dataframe as dd
import numpy as np
import pandas as pd
from dask.distributed import Client, LocalCluster

COLLECTORS = range(8)


@dask.delayed
def fetch_collector(number):
    rng = np.random.default_rng(number)
    n = 2000
    frame = pd.DataFrame(
        {
            "meter": rng.integers(10_000, 20_000, n),
            "read_at": pd.date_range("2026-02-01", periods=n, freq="30min"),
            "kwh": rng.gamma(1.2, 0.6, n),
        }
    )
    if number == 6:
        frame["kwh"] = frame["kwh"].map("{:.3f} kWh".format)
    return frame


def build():
    layout = pd.DataFrame(
        {
            "meter": pd.Series(dtype="int64"),
            "read_at": pd.Series(dtype="datetime64[us]"),
            "kwh": pd.Series(dtype="float64"),
        }
    )
    return dd.from_delayed(
        [fetch_collector(n) for n in COLLECTORS], meta=layout, verify_meta=True
    )


def main():
    with (
        LocalCluster(
            n_workers=2, threads_per_worker=1, dashboard_address=None
        ) as cluster,
        Client(cluster),
    ):
        readings = build()
        peak = readings.groupby("meter").kwh.max().compute()
        print(peak.describe())


if __name__ == "__main__":
    main()
