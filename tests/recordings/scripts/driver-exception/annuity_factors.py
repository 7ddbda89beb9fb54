"""Acceptance tests of the annuity factors, run every night against a small cluster.

The functions under test are those of the pricing library; the tests also make
sure that bad input is refused.
"""

import math

import dask
import pytest
from dask.distributed import Client, LocalCluster, wait

TABLE = {
    age: min(1.0, 0.00022 * math.exp(0.092 * (age - 30))) for age in range(30, 121)
}


class TableGap(LookupError):
    pass


def survival(age, years):
    """Probability that somebody of this age lives that many years longer."""
    alive = 1.0
    for year in range(years):
        if age + year not in TABLE:
            raise TableGap(f"no mortality for age {age + year}")
        alive *= 1.0 - TABLE[age + year]
    return alive


def annuity_factor(age, rate, payments=1):
    if rate <= -1.0:
        raise ValueError(f"interest {rate} is not possible")
    total = 0.0
    for year in range(0, 121 - age):
        total += survival(age, year) / (1 + rate) ** year
    if payments > 1:
        total -= (payments + 1) / (2 * payments)
    return total


def premium(annual, factor):
    return round(annual * factor, 2)


@pytest.fixture(scope="module")
def client():
    with LocalCluster(
        n_workers=2, threads_per_worker=1, memory_limit="400MB", dashboard_address=":0"
    ) as cluster:
        with Client(cluster) as client:
            yield client


def test_factor_falls_with_age(client):
    factors = client.gather(client.map(annuity_factor, [50, 60, 70, 80], rate=0.02))
    assert factors == sorted(factors, reverse=True)


def test_gap_in_the_table_is_reported(client):
    future = client.submit(survival, 25, 3)
    with pytest.raises(TableGap, match="age 25"):
        future.result()


@pytest.mark.parametrize("rate", [-1.0, -2.5])
def test_impossible_interest_is_refused(client, rate):
    with pytest.raises(ValueError, match="not possible"):
        client.submit(annuity_factor, 65, rate).result()


def test_one_bad_age_does_not_spoil_the_others(client):
    futures = client.map(survival, [40, 20, 60], years=5)
    wait(futures)
    assert [future.status for future in futures] == ["finished", "error", "finished"]


def test_premium_through_a_graph(client):
    factor = dask.delayed(annuity_factor)(65, 0.015)
    amounts = [dask.delayed(premium)(annual, factor) for annual in (1000, 2000)]
    one, two = dask.compute(*amounts)
    assert two == pytest.approx(2 * one, abs=0.02)


def test_monthly_payments_cost_less(client):
    yearly = client.submit(annuity_factor, 65, 0.02)
    monthly = client.submit(annuity_factor, 65, 0.02, payments=12)
    difference = yearly.result() - monthly.result()
    assert difference == pytest.approx(11 / 24, abs=1e-6)


@pytest.mark.xfail(reason="tables end at 120", raises=TableGap, strict=True)
def test_very_old_people(client):
    assert client.submit(survival, 119, 10).result() == 0.0


def test_zero_interest_is_life_expectancy(client):
    factor = client.submit(annuity_factor, 90, 0.0).result()
    assert 2.0 < factor < 12.0
