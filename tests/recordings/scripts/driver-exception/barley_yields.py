"""Yield per hectare of the barley fields, relative to the best field of each part."""

import tempfile

import dask.dataframe as dd
import pandas as pd
from distributed import Client, LocalCluster


def relative_yield(part):
    part = part.query("tonnes > 6")
    best = part.nlargest(1, "tonnes").iloc[0]
    return part.assign(share=part.tonnes / best.tonnes)


def main():
    fields = pd.DataFrame(
        {
            "field": [f"f{n}" for n in range(200)],
            "tonnes": [5 + n % 9 for n in range(200)],
            "hectares": [1 + n % 3 for n in range(200)],
        }
    )
    with (
        tempfile.TemporaryDirectory() as tmp,
        LocalCluster(
            n_workers=2,
            threads_per_worker=1,
            dashboard_address=None,
            local_directory=tmp,
        ) as cluster,
        Client(cluster),
    ):
        print(relative_yield(fields).share.mean())
        frame = dd.from_pandas(fields, npartitions=4)
        print(frame.map_partitions(relative_yield).share.mean().compute())


if __name__ == "__main__":
    main()
