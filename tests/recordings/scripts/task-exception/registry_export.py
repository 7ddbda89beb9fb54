"""Exports the land registry's address book to parquet, one part per parish."""

import tempfile
import time
from pathlib import Path

import numpy as np
import pandas as pd
import dask.dataframe as dd
from dask import delayed
from dask.distributed import Client, LocalCluster

PARISHES = ["ashby", "brill", "cold", "dunton", "eaton", "fyfield"]


def load_parish(parish):
    rng = np.random.default_rng(len(parish) * 7)
    rows = 5000
    codes = [
        f"{parish[:2].upper()}{number:04d}" for number in rng.integers(0, 9999, rows)
    ]
    if parish == "dunton":
        codes[1234] = 4021
    return pd.DataFrame(
        {
            "plot": np.arange(rows),
            "parish": pd.Series([parish] * rows, dtype="object"),
            "postcode": pd.Series(codes, dtype="object"),
            "hectares": rng.lognormal(0, 1, rows),
        }
    )


def drop_slivers(part):
    time.sleep(0.3)
    return part[part["hectares"] > 0.05]


def main():
    with tempfile.TemporaryDirectory() as name:
        target = Path(name) / "registry"
        with LocalCluster(
            n_workers=2,
            threads_per_worker=1,
            memory_limit="700MB",
            dashboard_address=":0",
        ) as cluster:
            with Client(cluster) as client:
                client.wait_for_workers(2)
                meta = pd.DataFrame(
                    {
                        "plot": pd.Series(dtype="i8"),
                        "parish": pd.Series(dtype="string"),
                        "postcode": pd.Series(dtype="string"),
                        "hectares": pd.Series(dtype="f8"),
                    }
                )
                parts = [delayed(load_parish)(parish) for parish in PARISHES]
                book = dd.from_delayed(
                    parts, meta=meta, verify_meta=False
                ).map_partitions(drop_slivers, meta=meta)
                print("plots:", len(book))
                print("area:", round(book.hectares.sum().compute(), 1), "ha")
                book.to_parquet(str(target), write_index=False)
                print("parts:", len(list(target.glob("*.parquet"))))


if __name__ == "__main__":
    import dask

    dask.config.set({"dataframe.convert-string": False})
    main()
