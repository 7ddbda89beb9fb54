import resource
import tempfile
from pathlib import Path

import dask.dataframe as dd
import numpy as np
import pandas as pd
from distributed import Client, LocalCluster


def site_limits():
    resource.setrlimit(resource.RLIMIT_FSIZE, (2 * 2**20, 2 * 2**20))


def households(block):
    rng = np.random.default_rng(block)
    n = 40000
    return pd.DataFrame(
        {
            "block": block,
            "income": rng.lognormal(10, 0.7, n),
            "size": rng.integers(1, 7, n),
            "weight": rng.random(n),
        }
    )


def equivalise(df):
    return df.assign(eq_income=df["income"] / np.sqrt(df["size"]))


def main():
    site_limits()
    out = Path(tempfile.mkdtemp(prefix="census")) / "households.parquet"
    with (
        LocalCluster(
            n_workers=2,
            threads_per_worker=1,
            memory_limit="500MB",
            dashboard_address=None,
        ) as cluster,
        Client(cluster) as client,
    ):
        frame = dd.from_map(households, range(8)).map_partitions(equivalise)
        table = client.compute(frame).result()
        print("computed", len(table), "households, mean", table["eq_income"].mean())
        table.to_parquet(out)
        print("written", out.stat().st_size)


if __name__ == "__main__":
    main()
