"""Sort the loan ledger by customer, inside the quota of the job's user."""

import resource
import tempfile

import dask
import numpy as np
import pandas as pd
import dask.dataframe as dd
from dask.distributed import Client, LocalCluster

QUOTA = 96 * 1024


def apply_quota(size):
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, resource.RLIM_INFINITY))
    return resource.getrlimit(resource.RLIMIT_FSIZE)[0]


def ledger(rows=120_000):
    rng = np.random.default_rng(77)
    return pd.DataFrame(
        {
            "customer": rng.integers(0, 5000, rows),
            "amount": rng.normal(100, 30, rows),
            "interest": rng.random(rows),
        }
    )


def balance(part):
    return part.groupby("customer").amount.sum().to_frame()


def main():
    with tempfile.TemporaryDirectory() as scratch:
        dask.config.set({"dataframe.shuffle.method": "p2p"})
        with (
            LocalCluster(
                n_workers=2,
                threads_per_worker=1,
                local_directory=scratch,
                dashboard_address=":0",
            ) as cluster,
            Client(cluster) as client,
        ):
            print("quota:", client.run(apply_quota, QUOTA))
            book = dd.from_pandas(ledger(), npartitions=8)
            by_customer = book.shuffle("customer", npartitions=6)
            balances = by_customer.map_partitions(balance, meta={"amount": "f8"})
            print(balances.amount.describe().compute())


if __name__ == "__main__":
    main()
