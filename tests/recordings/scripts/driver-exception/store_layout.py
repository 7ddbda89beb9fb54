"""Shelf statistics: big tables on the cluster, small ones on local threads."""

import pandas as pd
import numpy as np
import dask
import dask.bag as db
from dask.distributed import Client, LocalCluster


def shelf(number):
    rng = np.random.default_rng(number)
    return {"shelf": number, "slots": int(rng.integers(20, 60)), "aisle": number % 6}


def free_slots(record, client):
    return client.submit(lambda s: s // 3, record["slots"]).result()


@dask.delayed
def summarise(rows):
    return pd.DataFrame(rows).groupby("aisle").slots.sum()


def main():
    with (
        LocalCluster(
            n_workers=2, threads_per_worker=1, dashboard_address=None
        ) as cluster,
        Client(cluster) as client,
    ):
        rows = [dask.delayed(shelf)(n) for n in range(30)]
        held = dask.persist(*rows)
        table = summarise(list(held))
        print("slots on cluster:", int(table.sum().compute()))
        local = summarise([row for row in held if hash(row.key)])
        print(local.compute(scheduler="threads"))


if __name__ == "__main__":
    main()
