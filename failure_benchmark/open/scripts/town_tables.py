"""Stores the tables of towns; the tasks write files, and the driver waits for all."""

import os
import tempfile

import numpy as np
import pandas as pd
from dask.distributed import Client, LocalCluster, wait


def stored(town, folder):
    people = np.random.default_rng(town).integers(0, 100, (800_000, 4))
    table = pd.DataFrame(people, columns=["age", "house", "street", "trade"])
    table.iloc[:50].to_csv(os.path.join(folder, f"{town}.csv"))
    return table


if __name__ == "__main__":
    folder = tempfile.mkdtemp()
    with (
        LocalCluster(
            n_workers=2,
            threads_per_worker=1,
            memory_limit="320MiB",
            dashboard_address=":0",
        ) as cluster,
        Client(cluster) as client,
    ):
        futures = []
        for town in range(50):
            futures.append(client.submit(stored, town, folder))
        wait(futures)
        print(len(os.listdir(folder)))
