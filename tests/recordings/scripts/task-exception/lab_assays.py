"""Lab assays: stage the plates as parquet, tidy up, then compute the controls."""

import os
import tempfile
import time

import dask.dataframe as dd
import numpy as np
import pandas as pd
from dask.distributed import Client, LocalCluster


def plate(i):
    rng = np.random.default_rng(i)
    return pd.DataFrame({"plate": i, "well": range(96), "od": rng.uniform(0, 2, 96)})


def purge_staging(folder, keep):
    """Keep the newest files only."""
    files = sorted(
        (os.path.join(r, f) for r, _, fs in os.walk(folder) for f in fs),
        key=os.path.getmtime,
    )
    for path in files[:-keep]:
        os.remove(path)
    return len(files) - keep


def main():
    with tempfile.TemporaryDirectory() as folder:
        staging = os.path.join(folder, "staging")
        with LocalCluster(
            n_workers=2, threads_per_worker=1, dashboard_address=":0"
        ) as cluster:
            with Client(cluster) as client:
                dd.from_map(plate, range(8)).to_parquet(os.path.join(staging, "plates"))
                plates = dd.read_parquet(os.path.join(staging, "plates"))
                time.sleep(0.3)
                print(
                    "purged", client.submit(purge_staging, staging, 5).result(), "files"
                )
                print(plates.groupby("plate")["od"].mean().compute())


if __name__ == "__main__":
    main()
