"""Tests of the adder survey's estimates (run with pytest).

Volunteers count adders on transects.  The estimate of density runs on Dask; the tests start a small cluster
once and use it for all of them.
"""

import math

import numpy as np
import pandas as pd
import pytest
from dask import dataframe as dd
from distributed import Client, LocalCluster


class SurveyError(ValueError):
    """A transect that cannot be used."""


# ---- what is tested ----------------------------------------------------------------------------------------


def half_width(distances):
    """Effective half width of a strip from the distances at which animals were seen (half-normal)."""
    if len(distances) == 0:
        raise SurveyError("no sightings on the transect")
    sigma = math.sqrt(float(np.mean(np.square(distances))))
    return sigma * math.sqrt(math.pi / 2)


def density(transect):
    if transect["length"] <= 0:
        raise SurveyError(
            f"transect {transect['name']} has length {transect['length']}"
        )
    width = half_width(transect["distances"])
    return len(transect["distances"]) / (2 * width * transect["length"]) * 1e4


def site_table(client, sightings):
    frame = dd.from_pandas(sightings, npartitions=3)
    return frame.groupby("site")["count"].sum().compute(scheduler=client)


def season_total(client, sightings):
    parts = [
        client.submit(lambda s: int(s["count"].sum()), part)
        for _, part in sightings.groupby("month")
    ]
    return client.submit(sum, parts).result()


# ---- fixtures ----------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def client():
    with LocalCluster(
        n_workers=2, threads_per_worker=1, memory_limit="400MB", dashboard_address=None
    ) as cluster:
        with Client(cluster) as c:
            yield c


@pytest.fixture
def sightings():
    rng = np.random.default_rng(8)
    n = 240
    return pd.DataFrame(
        {
            "site": rng.choice(["heath", "dune", "scarp"], n),
            "month": rng.choice([3.0, 4.0, 5.0, np.nan], n, p=[0.4, 0.3, 0.2, 0.1]),
            "count": rng.integers(0, 4, n),
        }
    )


def transect(name, length=400.0, n=12):
    rng = np.random.default_rng(len(name))
    return {"name": name, "length": length, "distances": np.abs(rng.normal(0, 3.0, n))}


# ---- tests -------------------------------------------------------------------------------------------------


def test_density_is_positive(client):
    values = client.gather(
        client.map(density, [transect(f"T{i}" * (i + 1)) for i in range(5)])
    )
    assert all(v > 0 for v in values)


def test_transect_without_length_is_refused(client):
    future = client.submit(density, transect("short", length=0.0))
    with pytest.raises(SurveyError, match="has length"):
        future.result()


@pytest.mark.parametrize("name", ["empty", "also-empty"])
def test_transect_without_sightings_is_refused(client, name):
    with pytest.raises(SurveyError):
        client.submit(density, transect(name, n=0)).result()


def test_site_table_has_all_sites(client, sightings):
    table = site_table(client, sightings)
    assert set(table.index) == {"heath", "dune", "scarp"}


def test_season_total_is_sum_of_counts(client, sightings):
    assert season_total(client, sightings) == sightings["count"].sum()


def test_unknown_column_is_refused(client, sightings):
    with pytest.raises(KeyError):
        client.submit(lambda s: s["observer"].nunique(), sightings).result()


def test_half_width_grows_with_distance(client):
    near, far = client.gather(
        client.map(half_width, [np.array([1.0, 2.0]), np.array([5.0, 9.0])])
    )
    assert far > near
