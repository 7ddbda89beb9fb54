"""Reads the lengths of beetles, which a table has as text."""

import dask
import dask.dataframe as dd
import pandas as pd
from dask.distributed import Client, LocalCluster

if __name__ == "__main__":
    dask.config.set({"dataframe.convert-string": False})
    table = pd.DataFrame(
        {"beetle": range(100), "length": [f"{k}mm" for k in range(100)]}
    )
    table = table.astype({"length": object})
    with (
        LocalCluster(
            n_workers=2, threads_per_worker=1, dashboard_address=":0"
        ) as cluster,
        Client(cluster),
    ):
        beetles = dd.from_pandas(table, npartitions=4)
        lengths = beetles.length.apply(lambda text: int(text.removesuffix("mm")))
        print(lengths.mean().compute())
