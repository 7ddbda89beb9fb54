"""Cast order numbers to 32 bits with Arrow."""

import pyarrow as pa
from dask.distributed import Client


def narrow(orders):
    return pa.array(orders, pa.int64()).cast(pa.int32()).nbytes


if __name__ == "__main__":
    with Client(n_workers=2, threads_per_worker=1, dashboard_address=":0") as client:
        batches = [[1, 2, 3], [4, 5_000_000_000], [6]]
        print(client.gather(client.map(narrow, batches)))
