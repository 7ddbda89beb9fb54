"""Reads the surveys of fields, and adds the day of each."""

import dask
import dask.dataframe as dd
import pandas as pd
from dask.distributed import Client, LocalCluster


@dask.delayed
def survey(day):
    rows = {"plants": range(20), "height": [day * 1.5] * 20, "day": [day] * 20}
    names = ["day", "plants", "height"] if day != 4 else ["plants", "height", "day"]
    return pd.DataFrame(rows)[names]


if __name__ == "__main__":
    with (
        LocalCluster(
            n_workers=2, threads_per_worker=1, dashboard_address=":0"
        ) as cluster,
        Client(cluster),
    ):
        surveys = dd.from_delayed([survey(day) for day in range(8)])
        print(surveys.groupby("day").plants.sum().compute())
