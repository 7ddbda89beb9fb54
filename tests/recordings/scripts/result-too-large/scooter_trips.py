"""Scooter trips: a table of features per trip for the demand model.

The model is fitted in the driver since last week (it was a partial_fit per partition before)."""

import argparse
import sys
import time

import dask
import dask.dataframe as dd
import numpy as np
import pandas as pd
from dask.distributed import Client, LocalCluster

FEATURES = [
    "hour",
    "battery",
    "km",
    "temperature",
    "rain",
    "hills",
    "speed",
    "age",
    "wait",
    "fare",
]


def load_trips(day, rows):
    rng = np.random.default_rng(day)
    data = {name: rng.random(rows) for name in FEATURES}
    data["scooter"] = rng.integers(0, 5000, rows)
    return pd.DataFrame(data)


def add_features(frame):
    return frame.assign(
        pace=frame["km"] / (frame["speed"] + 0.1),
        cold=(frame["temperature"] < 0.2).astype("float64"),
        load=frame["hills"] * frame["age"],
    )


class DemandModel:
    def __init__(self, columns):
        self.columns = columns
        self.weights = None

    def fit(self, frame):
        x = frame[self.columns].to_numpy()
        y = frame["wait"].to_numpy()
        self.weights, *_ = np.linalg.lstsq(x, y, rcond=None)
        return self

    def report(self, stream=sys.stdout):
        for name, weight in zip(self.columns, self.weights):
            print(f"{name:<12}{weight:+.4f}", file=stream)


def profile(trips):
    """Means and spread, cheap enough for every day."""
    numbers = trips[["km", "fare", "battery"]]
    mean, top = dask.compute(numbers.mean(), numbers.max())
    return pd.DataFrame({"mean": mean, "max": top})


def training_table(trips):
    table = trips.map_partitions(add_features)
    return table.compute()


def main(argv=None):
    parser = argparse.ArgumentParser()
    parser.add_argument("--days", type=int, default=14)
    parser.add_argument("--rows", type=int, default=400_000)
    parser.add_argument("--memory", default="420MB")
    options = parser.parse_args(argv)

    begin = time.monotonic()
    cluster = LocalCluster(
        n_workers=2,
        threads_per_worker=1,
        memory_limit=options.memory,
        dashboard_address=None,
        silence_logs=False,
    )
    with cluster, Client(cluster) as client:
        trips = dd.from_map(load_trips, range(options.days), rows=options.rows)
        print(profile(trips).round(3), flush=True)
        table = training_table(trips)
        print(
            f"{len(table)} trips after {time.monotonic() - begin:.0f} s on {client.scheduler.address}",
            flush=True,
        )
    DemandModel(["hour", "battery", "km", "pace", "cold", "load"]).fit(table).report()


if __name__ == "__main__":
    main()
