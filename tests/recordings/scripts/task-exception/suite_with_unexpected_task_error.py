"""Tests of our cleaning functions, on a real little cluster."""

import dask.dataframe as dd
import pandas as pd
import pytest
from dask.distributed import Client


def normalise(frame):
    if (frame["weight"] <= 0).any():
        raise ValueError(f"weight must be positive in {frame['name'].iloc[0]}")
    return frame.assign(weight=frame["weight"] / frame["weight"].max())


@pytest.fixture(scope="module")
def client():
    with Client(n_workers=2, threads_per_worker=1, dashboard_address=":0") as client:
        yield client


def frame(weights):
    names = [f"parcel-{n}" for n in range(len(weights))]
    return dd.from_pandas(
        pd.DataFrame({"name": names, "weight": weights}), npartitions=2
    )


def test_refuses_negative(client):
    with pytest.raises(ValueError, match="positive"):
        frame([1.0, -2.0]).map_partitions(normalise, meta=frame([1.0, 2.0])).compute()


def test_maximum_is_one(client):
    result = frame([1.0, 2.0]).map_partitions(normalise, meta=frame([1.0, 2.0]))
    assert result["weight"].max().compute() == 1.0


def test_empty_parcels_are_allowed(client):
    result = frame([4.0, 3.0, 0.0, 5.0]).map_partitions(
        normalise, meta=frame([1.0, 2.0])
    )
    assert len(result.compute()) == 4
