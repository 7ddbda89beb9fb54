"""The same with the library's context manager."""

import dask.dataframe as dd
import pandas as pd
from dask.distributed import Client
from dask_blackbox import recording


def age_group(row):
    limits = {"child": 18, "adult": 65}
    for name, limit in limits.items():
        if row["age"] < limit:
            return name
    raise LookupError(f"no group for age {row['age']}")


if __name__ == "__main__":
    people = pd.DataFrame({"age": [3, 20, 40, 70, 15, 64, 90, 33] * 10})
    client = Client(n_workers=2, threads_per_worker=1, dashboard_address=":0")
    with recording(client, job="age-groups"):
        ddf = dd.from_pandas(people, npartitions=4)
        groups = ddf.apply(age_group, axis=1, meta=("group", "object"))
        print(groups.value_counts().compute())
