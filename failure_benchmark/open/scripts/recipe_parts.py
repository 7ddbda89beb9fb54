"""Counts the ingredients of recipes, which a table has as lists."""

import dask.dataframe as dd
import pandas as pd
from dask.distributed import Client, LocalCluster


def amounts(part):
    return part.ingredients.map(lambda each: sum(each.values()))


if __name__ == "__main__":
    recipes = pd.DataFrame(
        {
            "recipe": range(60),
            "ingredients": [{"flour": k, "sugar": 2 * k} for k in range(60)],
        }
    )
    with (
        LocalCluster(
            n_workers=2, threads_per_worker=1, dashboard_address=":0"
        ) as cluster,
        Client(cluster),
    ):
        table = dd.from_pandas(recipes, npartitions=3)
        found = table.map_partitions(amounts, meta=("ingredients", "int64"))
        print(found.sum().compute())
