"""Spruce volumes: standing timber per forest compartment from the harvester heads' stem files.

version 2: the result is a folder of parquet parts, no longer one file."""

import configparser
import contextlib
import os
import time

import dask
import dask.array as da
import dask.dataframe as dd
import numpy as np
import pandas as pd
from dask.distributed import Client, LocalCluster

CONFIG = """
[input]
machines = 6
stems = 5000

[output]
path = results/compartments.parquet
keep_previous = yes
"""


def settings():
    parser = configparser.ConfigParser()
    if os.path.exists("spruce.ini"):
        parser.read("spruce.ini")
    else:
        parser.read_string(CONFIG)
    return parser


def last_night(path):
    """The table of the previous night (written by version 1), for comparison."""
    os.makedirs(os.path.dirname(path), exist_ok=True)
    if not os.path.exists(path):
        pd.DataFrame(
            {"compartment": np.arange(40), "volume": np.full(40, 812.0)}
        ).to_parquet(path)
    return pd.read_parquet(path).set_index("compartment")["volume"]


def stems(machine, count):
    rng = np.random.default_rng(machine)
    return pd.DataFrame(
        {
            "compartment": rng.integers(0, 40, count),
            "diameter": rng.normal(0.31, 0.06, count).clip(0.08),
            "height": rng.normal(24.0, 3.0, count).clip(4.0),
        }
    )


def volume(frame):
    form = 0.45
    return frame.assign(
        volume=np.pi / 4 * frame["diameter"] ** 2 * frame["height"] * form
    )


def taper_curve():
    """Mean taper, only a figure in the foreword of the report."""
    x = da.linspace(0, 1, 100_000, chunks=25_000)
    return float((1 - x**2).mean().compute())


@contextlib.contextmanager
def timed(what):
    begin = time.monotonic()
    try:
        yield
    finally:
        print(f"{what}: {time.monotonic() - begin:.2f} s", flush=True)


def main():
    config = settings()
    path = config["output"]["path"]
    previous = last_night(path)
    machines = config.getint("input", "machines")
    dask.config.set({"distributed.scheduler.worker-ttl": "120s"})
    with (
        LocalCluster(
            n_workers=2, threads_per_worker=1, dashboard_address=None
        ) as cluster,
        Client(cluster),
    ):
        with timed("taper"):
            print(f"taper {taper_curve():.4f}")
        with timed("volumes"):
            table = dd.from_map(
                stems, range(machines), count=config.getint("input", "stems")
            )
            table = table.map_partitions(volume)
            totals = table.groupby("compartment")["volume"].sum().compute()
        change = (totals - previous).abs().max()
        print(
            f"largest change against last night: {change:.1f} cubic metres", flush=True
        )
        with timed("output"):
            table.to_parquet(path, write_index=False)
    print("done")


if __name__ == "__main__":
    main()
