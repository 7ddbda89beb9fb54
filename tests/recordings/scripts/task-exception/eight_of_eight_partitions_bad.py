"""Daily turnover per product from eight partitions."""

import dask.dataframe as dd
import pandas as pd
from dask.distributed import Client


def parse_amounts(frame):
    # the supplier began to send "1.234,50" instead of "1234.50"
    return frame.assign(amount=frame["amount"].astype(float))


if __name__ == "__main__":
    client = Client(n_workers=2, threads_per_worker=1)
    sales = pd.DataFrame(
        {
            "product": [f"p{n % 5}" for n in range(800)],
            "amount": [f"1.{n % 900 + 100},50" for n in range(800)],
        }
    )
    ddf = dd.from_pandas(sales, npartitions=8)
    meta = {"product": "string", "amount": "float64"}
    parsed = ddf.map_partitions(parse_amounts, meta=meta)
    print(parsed.groupby("product")["amount"].sum().compute())
