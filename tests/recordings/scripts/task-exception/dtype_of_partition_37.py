"""Convert sensor readings; one chunk has text."""

import dask.dataframe as dd
import pandas as pd
from dask.distributed import Client


def load(part):
    values = ["n/a", "7"] if part == 37 else ["5", "7"]
    return pd.DataFrame({"reading": values})


def to_celsius(frame):
    return frame.assign(celsius=frame.reading.astype(float) - 273.15)


if __name__ == "__main__":
    with Client(n_workers=2, threads_per_worker=1, dashboard_address=":0") as client:
        frame = dd.from_map(load, range(60), meta={"reading": "str"})
        meta = {"reading": "str", "celsius": "f8"}
        print(frame.map_partitions(to_celsius, meta=meta).celsius.mean().compute())
