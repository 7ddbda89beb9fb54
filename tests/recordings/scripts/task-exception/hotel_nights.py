"""Write the hotel nights of the month as parquet, under the batch account's limits."""

import os
import resource
import tempfile

import dask.dataframe as dd
import numpy as np
import pandas as pd
from dask.distributed import Client, LocalCluster


def batch_limits():
    resource.setrlimit(resource.RLIMIT_FSIZE, (3_000_000, 3_000_000))


def nights(hotel):
    n = 600_000 if hotel == "harbour" else 20_000
    rng = np.random.default_rng(len(hotel))
    return pd.DataFrame(
        {
            "hotel": hotel,
            "room": rng.integers(1, 400, n),
            "rate": rng.uniform(40, 300, n),
        }
    )


def main():
    with tempfile.TemporaryDirectory() as folder:
        with LocalCluster(
            n_workers=2, threads_per_worker=1, dashboard_address=":0"
        ) as cluster:
            with Client(cluster) as client:
                client.run(batch_limits)
                frame = dd.from_map(
                    nights, ["alpina", "bellevue", "central", "harbour", "lakeside"]
                )
                frame.to_parquet(os.path.join(folder, "nights"), compression=None)
                print("written", len(os.listdir(os.path.join(folder, "nights"))))


if __name__ == "__main__":
    main()
