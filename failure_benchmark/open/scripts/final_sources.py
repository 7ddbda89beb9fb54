"""Joins the radio sources of fields; some fields have none."""

import dask.dataframe as dd
import pandas as pd
from dask import delayed
from dask.distributed import Client, LocalCluster


@delayed
def sources(field):
    if field % 4 == 3:
        return pd.DataFrame({"source": [], "flux": []})
    return pd.DataFrame({"source": [f"J{field}{k}" for k in range(5)], "flux": 1.5})


if __name__ == "__main__":
    with (
        LocalCluster(
            n_workers=2, threads_per_worker=1, dashboard_address=":0"
        ) as cluster,
        Client(cluster),
    ):
        found = dd.from_delayed([sources(field) for field in range(8)])
        print(found.compute().flux.sum())
