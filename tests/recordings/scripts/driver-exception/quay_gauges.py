"""Daily maximum of the quay gauges; runs after the collector has delivered its files."""

import datetime as dt
import tempfile
from pathlib import Path

import numpy as np
import pandas as pd
import dask.dataframe as dd
from dask.distributed import Client, LocalCluster

DAY = dt.date(2026, 3, 14)
QUAYS = ["east", "west", "fish", "ore", "oil"]


def collect(inbox, day):
    """The collector of the harbour office."""
    for quay in QUAYS:
        rng = np.random.default_rng(len(quay))
        pd.DataFrame(
            {
                "quay": quay,
                "minute": np.arange(1440),
                "level_cm": 250
                + 180 * np.sin(np.arange(1440) / 237)
                + rng.normal(0, 2, 1440),
            }
        ).to_csv(inbox / f"{day:%Y%m%d}_{quay}.csv", index=False)


def offsets(client):
    """Zero points of the gauges, from the levelling campaign."""

    def level(quay):
        import time

        time.sleep(0.4)
        return quay, {"east": 1.2, "west": -0.4, "fish": 0.0, "ore": 2.1, "oil": 0.3}[
            quay
        ]

    return dict(client.gather(client.map(level, QUAYS)))


def highest(inbox, day):
    gauges = dd.read_csv(str(inbox / f"{day:%Y-%m-%d}_*.csv"))
    return gauges.groupby("quay").level_cm.max().compute()


def main():
    with tempfile.TemporaryDirectory() as name:
        inbox = Path(name) / "inbox"
        inbox.mkdir()
        collect(inbox, DAY)
        print("delivered:", len(list(inbox.iterdir())), "files")
        with LocalCluster(
            n_workers=2,
            threads_per_worker=1,
            memory_limit="500MB",
            dashboard_address=":0",
        ) as cluster:
            with Client(cluster) as client:
                zero = offsets(client)
                levels = highest(inbox, DAY)
                for quay, level in levels.items():
                    print(quay, round(level + zero[quay], 1))


if __name__ == "__main__":
    main()
