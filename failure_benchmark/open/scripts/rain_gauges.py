"""Reports on the rain that gauges measured; each line is printed as it is known."""

import io

import dask.dataframe as dd
import numpy as np
import pandas as pd
from dask.distributed import Client, LocalCluster


def gauge(number):
    values = np.random.default_rng(number).integers(0, 400, 60_000)
    text = "\n".join(f"{number},{at},{value / 10}" for at, value in enumerate(values))
    names = ["gauge", "minute", "rain"]
    return pd.read_csv(io.StringIO(text), names=names, engine="python")


if __name__ == "__main__":
    with (
        LocalCluster(
            n_workers=2, threads_per_worker=1, dashboard_address=":0"
        ) as cluster,
        Client(cluster),
    ):
        meta = {"gauge": "int64", "minute": "int64", "rain": "float64"}
        rain = dd.from_map(gauge, range(16), meta=meta)
        print("lines", len(rain))
        print("mean", rain.rain.mean().compute())
        print("most", rain.rain.max().compute())
        wet = rain[rain.rain > 30]
        print("wet minutes", len(wet))
        print("by gauge", wet.groupby("gauge").rain.sum().compute().tolist())
