"""Acceptance run of the bell foundry's tuning table: the nightly check is a pytest run."""

import sys

import dask.dataframe as dd
import pandas as pd
import pytest
from dask.distributed import Client, LocalCluster

PARTIALS = {"hum": 0.5, "prime": 1.0, "tierce": 1.2, "quint": 1.5, "nominal": 2.0}
BELLS = [
    ("Gloriosa", 165.0),
    ("Susanne", 220.6),
    ("Maria", 275.1),
    ("Petrus", 330.9),
    ("Angelus", 441.2),
]


def measure(bell, prime):
    factors = dict(PARTIALS)
    if bell == "Maria":
        factors["tierce"] = 1.25
    return pd.DataFrame(
        {
            "bell": bell,
            "partial": list(factors),
            "hertz": [round(prime * f, 1) for f in factors.values()],
        }
    )


def tuning_table():
    meta = pd.DataFrame(
        {
            "bell": pd.Series(dtype="str"),
            "partial": pd.Series(dtype="str"),
            "hertz": pd.Series(dtype="f8"),
        }
    )
    frames = dd.from_map(
        measure, [b for b, _ in BELLS], [p for _, p in BELLS], meta=meta
    )
    return frames.compute()


def nested(table):
    return {
        bell: dict(zip(rows["partial"], rows["hertz"]))
        for bell, rows in table.groupby("bell")
    }


@pytest.fixture(scope="module")
def client():
    with (
        LocalCluster(
            n_workers=2, threads_per_worker=1, dashboard_address=None
        ) as cluster,
        Client(cluster) as client,
    ):
        yield client


def test_all_bells_are_measured(client):
    assert set(tuning_table()["bell"]) == {bell for bell, _ in BELLS}


def test_nominal_is_an_octave_above_prime(client):
    for partials in nested(tuning_table()).values():
        assert partials["nominal"] == pytest.approx(2 * partials["prime"], abs=0.1)


def test_partials_follow_the_minor_third_profile(client):
    expected = {
        bell: {name: round(prime * f, 1) for name, f in PARTIALS.items()}
        for bell, prime in BELLS
    }
    assert nested(tuning_table()) == expected


def test_sums_on_the_cluster(client):
    assert client.submit(sum, PARTIALS.values()).result() == pytest.approx(6.2)


if __name__ == "__main__":
    sys.exit(pytest.main(["-q", "-p", "no:cacheprovider", "-vv", __file__]))
