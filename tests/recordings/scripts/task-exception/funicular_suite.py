"""Data checks of the funicular's ridership lake, run by pytest every night against the day files."""

import logging
import os
import sys
import tempfile
import time

import dask.dataframe as dd
import numpy as np
import pandas as pd
import pytest
from distributed import Client, LocalCluster

log = logging.getLogger("funicular_suite")

DAYS = pd.date_range("2026-03-01", periods=10, freq="D")
STOPS = ["valley", "middle", "summit"]


def day_frame(day, rng):
    hours = np.repeat(np.arange(6, 24), len(STOPS))
    return pd.DataFrame(
        {
            "day": day.strftime("%Y-%m-%d"),
            "hour": hours.astype("int64"),
            "stop": np.tile(STOPS, 18),
            "riders": rng.integers(0, 90, hours.size).astype("int64"),
            "fare": rng.uniform(2.5, 8.0, hours.size).round(2),
        }
    )


def write_lake(folder):
    """Stand-in for the loader: one Parquet file per day."""
    rng = np.random.default_rng(8)
    for day in DAYS:
        frame = day_frame(day, rng)
        if (
            day.day == 8
        ):  # turnstile at the summit was being repaired, riders counted by hand
            frame["riders"] = frame["riders"].astype(str)
            frame.loc[frame["stop"] == "summit", "riders"] = "closed"
        time.sleep(0.6)  # download
        frame.to_parquet(folder / f"riders_{day:%Y%m%d}.parquet", index=False)


def read_day(path):
    frame = pd.read_parquet(path)
    return frame.assign(income=frame["riders"] * frame["fare"])


@pytest.fixture(scope="session")
def lake(tmp_path_factory):
    folder = tmp_path_factory.mktemp("lake")
    write_lake(folder)
    return folder


@pytest.fixture(scope="session")
def client(tmp_path_factory):
    with (
        LocalCluster(
            n_workers=2,
            threads_per_worker=1,
            memory_limit="400MB",
            dashboard_address=":0",
            local_directory=str(tmp_path_factory.mktemp("scratch")),
        ) as cluster,
        Client(cluster) as client,
    ):
        yield client


def days_of(lake):
    return sorted(str(p) for p in lake.glob("riders_*.parquet"))


def test_all_days_arrived(lake):
    assert len(days_of(lake)) == len(DAYS)


def test_stops_are_known(client, lake):
    stops = dd.read_parquet(str(lake), columns=["stop"])["stop"].unique().compute()
    assert sorted(stops) == sorted(STOPS)


def test_unknown_day_is_refused(client, lake):
    future = client.submit(read_day, str(lake / "riders_20260230.parquet"))
    with pytest.raises(FileNotFoundError):
        future.result()


def test_income_per_day(client, lake):
    days = client.gather(client.map(read_day, days_of(lake)))
    income = pd.concat(days).groupby("day")["income"].sum()
    assert len(income) == len(DAYS)
    assert (income > 0).all()


def test_hours_of_operation(client, lake):
    hours = dd.read_parquet(str(lake), columns=["hour"])["hour"]
    assert (hours.min().compute(), hours.max().compute()) == (6, 23)


def main():
    logging.basicConfig(
        level=logging.INFO, format="%(asctime)s %(name)s %(levelname)s %(message)s"
    )
    sys.dont_write_bytecode = True  # nothing into the checkout
    os.environ["PYTHONDONTWRITEBYTECODE"] = "1"
    log.info("checking %d days", len(DAYS))
    with tempfile.TemporaryDirectory(prefix="funicular-") as tmp:
        options = [
            "-q",
            "-p",
            "no:cacheprovider",
            "--tb=short",
            f"--basetemp={tmp}/pytest",
        ]
        code = pytest.main([__file__, *options, *sys.argv[1:]])
    log.info("pytest ended with %d", code)
    return int(code)


if __name__ == "__main__":
    sys.exit(main())
