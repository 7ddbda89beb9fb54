"""Regression tests of the beer duty calculation, run every night against a small cluster.

A brewery pays by strength and volume; small breweries get a relief that shrinks as they grow.
"""

import dask
import pandas as pd
import pytest
from distributed import Client, LocalCluster

FULL_RATE = 21.78  # per hectolitre of pure alcohol and percent
RELIEF_BELOW = 5_000
RELIEF_ENDS = 60_000


def relief(hectolitres: float) -> float:
    """Share of the duty that is waived."""
    if hectolitres <= 0:
        raise ValueError(f"a brewery of {hectolitres} hl")
    if hectolitres <= RELIEF_BELOW:
        return 0.5
    if hectolitres >= RELIEF_ENDS:
        return 0.0
    return 0.5 * RELIEF_BELOW / hectolitres


def duty(batch: dict) -> float:
    if not 0.5 <= batch["strength"] <= 14:
        raise ValueError(f"strength {batch['strength']} outside the table")
    return round(
        batch["volume"]
        * batch["strength"]
        * FULL_RATE
        / 100
        * (1 - relief(batch["yearly"])),
        2,
    )


def excise_total(batches: list[dict]) -> dask.delayed:
    return dask.delayed(sum)([dask.delayed(duty)(batch) for batch in batches])


@pytest.fixture(scope="module")
def client():
    with (
        LocalCluster(
            n_workers=2,
            threads_per_worker=1,
            memory_limit="350MB",
            dashboard_address=None,
        ) as cluster,
        Client(cluster) as client,
    ):
        yield client


@pytest.fixture
def brewery():
    return [
        {"volume": 120.0, "strength": 4.8, "yearly": 3_200},
        {"volume": 80.0, "strength": 6.5, "yearly": 3_200},
        {"volume": 45.0, "strength": 9.2, "yearly": 3_200},
    ]


def test_small_brewery_pays_half(client, brewery):
    whole = sum(b["volume"] * b["strength"] * FULL_RATE / 100 for b in brewery)
    assert client.compute(excise_total(brewery)).result() == pytest.approx(
        whole / 2, abs=0.02
    )


def test_too_strong_is_refused(client, brewery):
    brewery[1]["strength"] = 41.0
    with pytest.raises(ValueError, match="outside the table"):
        client.compute(excise_total(brewery)).result()


def test_brewery_without_output(client):
    future = client.submit(relief, 0)
    with pytest.raises(ValueError, match="a brewery of 0 hl"):
        future.result()


def test_missing_strength(client):
    with pytest.raises(KeyError):
        client.submit(duty, {"volume": 3.0, "yearly": 900}).result()


@pytest.mark.parametrize("hectolitres", [1, 800, 5_000])
def test_half_below_the_limit(client, hectolitres):
    assert client.submit(relief, hectolitres).result() == 0.5


def test_relief_ends_smoothly(client):
    sizes = [5_000, 10_000, 20_000, 40_000, 59_999, 60_000]
    shares = pd.Series(client.gather(client.map(relief, sizes)), index=sizes)
    jumps = shares.diff().abs().dropna()
    assert jumps[60_000] < 0.01, f"relief jumps by {jumps[60_000]:.3f} at the upper end"


def test_duty_grows_with_strength(client):
    batches = [
        {"volume": 10.0, "strength": s, "yearly": 70_000} for s in (2.0, 4.0, 8.0)
    ]
    duties = client.gather(client.map(duty, batches))
    assert duties == sorted(duties)


def test_negative_strength(client):
    with pytest.raises(ValueError):
        client.submit(duty, {"volume": 1.0, "strength": -2, "yearly": 900}).result()
