"""Ledger extract: deliver the bookings of one week by booking day."""

import os
import tempfile

import dask
import dask.dataframe as dd
import numpy as np
import pandas as pd
from dask.distributed import Client, LocalCluster

STARTS = pd.to_datetime(["2026-03-02", "2026-03-09", "2026-03-16", "2026-03-23"])
END = pd.Timestamp("2026-03-29")


def export_week(root, i):
    rng = np.random.default_rng(i)
    days = pd.date_range(STARTS[i], periods=7)
    frame = pd.DataFrame(
        {"amount": rng.normal(100, 20, 700).round(2)}, index=np.repeat(days, 100)
    )
    if i == 1:
        late = pd.DataFrame(
            {"amount": np.full(40, 75.0)}, index=[pd.Timestamp("2026-03-19")] * 40
        )
        frame = pd.concat([frame, late])
    frame.index.name = "booked"
    frame.to_parquet(os.path.join(root, f"week{i}.parquet"))


@dask.delayed
def read_week(root, i):
    return pd.read_parquet(os.path.join(root, f"week{i}.parquet")).sort_index()


def main():
    with tempfile.TemporaryDirectory() as root:
        for i in range(4):
            export_week(root, i)
        control = sum(
            (
                pd.read_parquet(os.path.join(root, f"week{i}.parquet"))
                .loc["2026-03-16":"2026-03-22"]
                .shape[0]
            )
            for i in range(4)
        )
        with (
            LocalCluster(
                n_workers=2, threads_per_worker=1, dashboard_address=None
            ) as cluster,
            Client(cluster),
        ):
            meta = pd.DataFrame(
                {"amount": pd.Series(dtype="float64")},
                index=pd.DatetimeIndex([], name="booked"),
            )
            ledger = dd.from_delayed(
                [read_week(root, i) for i in range(4)],
                meta=meta,
                divisions=tuple(STARTS) + (END,),
                verify_meta=False,
            )
            week = ledger.loc["2026-03-16":"2026-03-22"].compute()
            print("rows delivered", len(week), "total", week["amount"].sum().round(2))
            assert len(week) == control, (
                f"control total differs: {len(week)} != {control}"
            )


if __name__ == "__main__":
    main()
