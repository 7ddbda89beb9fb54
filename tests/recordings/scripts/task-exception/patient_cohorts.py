"""First diagnosis per clinic for the cohort report."""

import dask.dataframe as dd
import numpy as np
import pandas as pd
from dask.distributed import Client, LocalCluster

CLINICS = ["cardio", "neuro", "ortho"]


def admissions():
    rng = np.random.default_rng(6)
    days = pd.date_range("2026-11-02", periods=28)
    frame = pd.DataFrame(
        {
            "day": np.repeat(days, 40),
            "clinic": rng.choice(CLINICS, 28 * 40),
            "icd": rng.choice(["I21", "G40", "M54", "S72"], 28 * 40),
            "age": rng.integers(1, 99, 28 * 40),
        }
    )
    # orthopaedics was moved to the new building in the last week
    moved = (frame["clinic"] == "ortho") & (frame["day"] >= "2026-11-23")
    return frame[~moved].reset_index(drop=True)


def first_case(frame, clinic):
    cases = frame[frame["clinic"] == clinic].sort_values("age")
    first = cases.iloc[0]
    return pd.DataFrame(
        {"clinic": [clinic], "icd": [first["icd"]], "age": [int(first["age"])]}
    )


def main():
    with (
        LocalCluster(
            n_workers=2, threads_per_worker=1, dashboard_address=None
        ) as cluster,
        Client(cluster),
    ):
        data = dd.from_pandas(admissions(), npartitions=8)
        meta = pd.DataFrame(
            {
                "clinic": pd.Series(dtype="str"),
                "icd": pd.Series(dtype="str"),
                "age": pd.Series(dtype="int64"),
            }
        )
        tables = []
        for clinic in CLINICS:
            tables.append(data.map_partitions(first_case, clinic, meta=meta))
        report = dd.concat(tables).compute()
        print(report.groupby("clinic")["age"].min())


if __name__ == "__main__":
    main()
