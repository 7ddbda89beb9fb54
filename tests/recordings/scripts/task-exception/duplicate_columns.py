"""Sum an export whose header repeats a column."""

import pandas as pd
from dask.distributed import Client


def total(n):
    columns = ["sku", "qty", "qty"] if n == 3 else ["sku", "qty"]
    frame = pd.DataFrame([["a", 1, 2][: len(columns)]], columns=columns)
    return int(frame.set_index("sku").qty.sum())


if __name__ == "__main__":
    with Client(n_workers=2, threads_per_worker=1, dashboard_address=":0") as client:
        print(sum(client.gather(client.map(total, range(6)))))
