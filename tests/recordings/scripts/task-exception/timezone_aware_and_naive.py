"""Compare event times with a cut-off."""

import dask.dataframe as dd
import pandas as pd
from dask.distributed import Client


def recent(frame):
    return frame[frame["at"] > pd.Timestamp("2026-03-01")]


if __name__ == "__main__":
    with Client(n_workers=2, threads_per_worker=1, dashboard_address=":0") as client:
        at = pd.date_range("2026-01-01", periods=400, freq="h", tz="Europe/Berlin")
        frame = dd.from_pandas(pd.DataFrame({"at": at, "n": 1}), npartitions=4)
        print(frame.map_partitions(recent, meta=frame._meta).n.sum().compute())
