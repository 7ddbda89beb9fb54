"""Counts stamps by colour from the files of years."""

import os
import tempfile

import dask.dataframe as dd
import pyarrow as pa
import pyarrow.parquet as pq
from dask.distributed import Client, LocalCluster

if __name__ == "__main__":
    folder = tempfile.mkdtemp(prefix="stamps-")
    for year in range(1950, 1954):
        # In 1950 nobody noted colours.
        colours = [None] * 500 if year == 1950 else ["red", "blue"] * 250
        table = pa.table({"stamp": list(range(500)), "colour": colours})
        pq.write_table(table, os.path.join(folder, f"{year}.parquet"))
    with (
        LocalCluster(
            n_workers=2, threads_per_worker=1, dashboard_address=":0"
        ) as cluster,
        Client(cluster),
    ):
        stamps = dd.read_parquet(folder)
        print(stamps.colour.value_counts().compute())
