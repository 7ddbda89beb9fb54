"""Sorts parcels by their code; the machine has a small scratch disk."""

import dask.dataframe as dd
import numpy as np
import pandas as pd
from dask.distributed import Client, LocalCluster


def parcels(depot):
    numbers = np.random.default_rng(depot)
    rows = 120_000
    return pd.DataFrame(
        {
            "code": numbers.integers(0, 2**40, rows),
            "weight": numbers.random(rows),
            "volume": numbers.random(rows),
        }
    )


if __name__ == "__main__":
    with (
        LocalCluster(
            n_workers=2,
            threads_per_worker=1,
            local_directory="scratch",
            dashboard_address=":0",
        ) as cluster,
        Client(cluster),
    ):
        frame = dd.from_map(parcels, range(40), meta=parcels(0).iloc[:0])
        print(frame.shuffle("code").weight.sum().compute())
