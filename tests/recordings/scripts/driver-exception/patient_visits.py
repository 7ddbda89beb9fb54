"""Slice one quarter of visits by visit date."""

import numpy as np
import pandas as pd
import dask
import dask.dataframe as dd
from dask.distributed import Client, LocalCluster

CLINICS = ["harbour", "central", "hillside", "university"]


def clinic_visits(seed):
    rng = np.random.default_rng(seed)
    start = pd.Timestamp("2025-01-01") + pd.Timedelta(days=80 * seed)
    days = np.sort(rng.integers(0, 140, 3000))
    return pd.DataFrame(
        {
            "visit_day": start + pd.to_timedelta(days, unit="D"),
            "clinic": CLINICS[seed],
            "minutes": rng.integers(5, 60, 3000),
        }
    )


def quarter(visits, first, last):
    indexed = visits.set_index(
        "visit_day",
        sorted=True,
        divisions=[
            pd.Timestamp("2025-01-01"),
            pd.Timestamp("2025-03-22"),
            pd.Timestamp("2025-06-10"),
            pd.Timestamp("2025-08-29"),
            pd.Timestamp("2026-01-20"),
        ],
    )
    picked = indexed.loc[first:last]
    return indexed, picked


def main():
    with (
        LocalCluster(
            n_workers=2, threads_per_worker=1, dashboard_address=None
        ) as cluster,
        Client(cluster),
    ):
        visits = dd.from_map(clinic_visits, range(4))
        indexed, picked = quarter(visits, "2025-06-15", "2025-08-15")
        selected = int(picked.minutes.count().compute())
        frame = visits.compute()
        days = frame.visit_day
        expected = int(((days >= "2025-06-15") & (days <= "2025-08-15 23:59")).sum())
        print("selected", selected, "expected", expected)
        assert selected == expected, (
            f"quarter slice has {selected} visits, register says {expected}"
        )


if __name__ == "__main__":
    main()
