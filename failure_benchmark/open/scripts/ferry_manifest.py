"""Publishes the manifest of each sailing for the dashboards that read it."""

import dask.dataframe as dd
import pandas as pd
from dask.distributed import Client


def publish(client: Client, sailing: int) -> None:
    manifest = dd.from_pandas(
        pd.DataFrame({"sailing": [sailing] * 50, "cabin": range(50)}), npartitions=2
    ).persist()
    client.publish_dataset(manifest=manifest)


if __name__ == "__main__":
    with Client(n_workers=1, threads_per_worker=2) as client:
        for sailing in (1, 2):
            publish(client, sailing)
        print(client.list_datasets())
