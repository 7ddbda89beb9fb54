"""Acceptance checks of the nightly cube, run as a test session."""

import sys

import dask.dataframe as dd
import pandas as pd
import pytest
from dask.distributed import Client, LocalCluster


def trips():
    stamps = pd.date_range("2026-10-24 22:00", periods=96, freq="30min", tz="UTC")
    return pd.DataFrame({"started": stamps, "km": [3.5] * 96})


def local_day(frame):
    frame = frame.copy()
    naive = frame["started"].dt.tz_localize(None)
    frame["day"] = (naive + pd.Timedelta(hours=2)).dt.date.astype(str)
    return frame


@pytest.fixture(scope="module")
def client():
    with (
        LocalCluster(
            n_workers=1, threads_per_worker=2, dashboard_address=None
        ) as cluster,
        Client(cluster) as c,
    ):
        yield c


@pytest.fixture(scope="module")
def cube(client):
    parts = dd.from_pandas(trips(), npartitions=3)
    return client.gather(
        client.map(local_day, [parts.get_partition(i).compute() for i in range(3)])
    )


def test_trip_count(cube):
    assert sum(len(part) for part in cube) == 96


def test_sunday_has_25_hours(cube):
    days = pd.concat(cube).groupby("day").size()
    # Berlin, 25 October 2026: clocks go back, the day is 25 hours long
    assert days["2026-10-25"] == 50


def test_distance(cube):
    assert pd.concat(cube)["km"].sum() == 336.0


if __name__ == "__main__":
    sys.exit(pytest.main(["-q", "-p", "no:cacheprovider", __file__]))
