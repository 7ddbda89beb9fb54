"""Acceptance checks of the seedling trial tables; the nightly CI calls this file directly."""

import sys
import time

import dask
import numpy as np
import pandas as pd
import pytest
from dask.distributed import Client, LocalCluster

BEDS = ["north", "south", "west", "polytunnel"]
TABLES = {}


def plant_bed(bed):
    rng = np.random.default_rng(len(bed))
    sown = rng.integers(40, 60, 12)
    if bed == "polytunnel":
        sown[7] = 0  # row lost to slugs before the count
    return [
        {"bed": bed, "row": i, "sown": int(s), "up": int(s * 0.8)}
        for i, s in enumerate(sown)
    ]


def germination(rows):
    time.sleep(0.5)
    return [{**r, "rate": r["up"] / r["sown"]} for r in rows]


@pytest.fixture(scope="session")
def client():
    with LocalCluster(
        n_workers=1, threads_per_worker=2, dashboard_address=":0"
    ) as cluster:
        with Client(cluster) as c:
            yield c


def test_load_beds(client):
    parts = [dask.delayed(germination)(dask.delayed(plant_bed)(b)) for b in BEDS]
    parts = dask.compute(*parts)
    TABLES["rates"] = pd.DataFrame([r for p in parts for r in p])
    assert len(TABLES["rates"]) == 12 * len(BEDS)


def test_cluster_answers(client):
    assert client.submit(sum, range(10)).result() == 45


def test_rates_are_shares(client):
    assert TABLES["rates"].rate.between(0, 1).all()


def test_every_bed_has_rows(client):
    assert set(TABLES["rates"].bed) == set(BEDS)


def test_weekly_mean(client):
    mean = client.submit(
        lambda f: f.groupby("bed").rate.mean(), TABLES["rates"]
    ).result()
    assert mean.min() > 0.5


if __name__ == "__main__":
    sys.exit(pytest.main([__file__, "-q", "-p", "no:cacheprovider", "--tb=short"]))
