"""Attach the single master record to every CRM contact."""

import tempfile
from pathlib import Path

import dask.dataframe as dd
import numpy as np
import pandas as pd
from dask.distributed import Client, LocalCluster


def seed(root):
    rng = np.random.default_rng(21)
    master = pd.DataFrame(
        {"tax_no": np.arange(5000), "legal_name": [f"Company {i}" for i in range(5000)]}
    )
    master = pd.concat(
        [master, master.iloc[[3120]].assign(legal_name="Company 3120 (old)")]
    )
    master.to_csv(root / "master.csv", index=False)
    crm = pd.DataFrame(
        {"contact": np.arange(20000), "tax_no": rng.integers(0, 5000, 20000)}
    )
    crm.to_parquet(root / "crm.parquet")


def attach(part, master):
    return part.merge(master, on="tax_no", how="left", validate="many_to_one")


def main():
    with tempfile.TemporaryDirectory() as tmp:
        root = Path(tmp)
        seed(root)
        with (
            LocalCluster(
                n_workers=2, threads_per_worker=1, dashboard_address=None
            ) as cluster,
            Client(cluster) as client,
        ):
            master = client.scatter(pd.read_csv(root / "master.csv"), broadcast=True)
            crm = dd.read_parquet(root / "crm.parquet").repartition(npartitions=4)
            parts = [
                client.submit(attach, p, master)
                for p in client.compute(crm.to_delayed())
            ]
            merged = pd.concat(client.gather(parts))
            print(len(merged), merged.legal_name.nunique())


if __name__ == "__main__":
    main()
