"""Tests of the dairy's price list: run by the build server before each release."""

import numpy as np
import pandas as pd
import pytest

import dask
import dask.dataframe as dd
from distributed import Client, LocalCluster

GRADES = {"mild": 6.2, "mature": 8.9, "vintage": 12.4}


# --- the code under test (imported from the price package on the build server) ---


def wheel_price(grade, kilos):
    if kilos <= 0:
        raise ValueError(f"a wheel of {kilos} kg cannot be sold")
    return round(GRADES[grade] * kilos, 2)


def price_list(wheels):
    return wheels.assign(
        price=wheels["grade"].map(GRADES).astype("float64") * wheels["kilos"]
    )


def with_discount(prices, percent):
    """Discount from the second wheel of a customer on."""
    factor = 1 - percent / 100
    later = prices.groupby("customer").cumcount() > 0
    return prices.assign(price=prices["price"].where(later, prices["price"] * factor))


# --- fixtures ---


@pytest.fixture(scope="module")
def client():
    with LocalCluster(
        n_workers=2, threads_per_worker=1, memory_limit="400MB", dashboard_address=None
    ) as cluster:
        with Client(cluster) as c:
            yield c


@pytest.fixture
def wheels():
    rng = np.random.default_rng(12)
    frame = pd.DataFrame(
        {
            "customer": np.repeat(["deli", "market", "hotel", "school"], 6),
            "grade": rng.choice(list(GRADES), 24),
            "kilos": rng.integers(2, 20, 24).astype("float64"),
        }
    )
    return dd.from_pandas(frame, npartitions=4)


# --- tests ---


def test_price_of_one_wheel(client):
    assert client.submit(wheel_price, "mature", 10).result() == 89.0


@pytest.mark.parametrize("kilos", [0, -3])
def test_no_price_without_weight(client, kilos):
    with pytest.raises(ValueError, match="cannot be sold"):
        client.submit(wheel_price, "mild", kilos).result()


def test_unknown_grade(client):
    price = dask.delayed(wheel_price)("smoked", 4)
    with pytest.raises(KeyError):
        price.compute()


def test_list_has_price_for_all(client, wheels):
    prices = price_list(wheels).compute()
    assert prices["price"].notna().all()
    assert len(prices) == 24


def test_discount_lowers_total(client, wheels):
    prices = price_list(wheels)
    before = prices["price"].sum().compute()
    meta = prices._meta
    reduced = prices.map_partitions(with_discount, 10, meta=meta)
    first = reduced.drop_duplicates("customer").compute()
    full = prices.drop_duplicates("customer").compute()
    after = reduced["price"].sum().compute()
    assert after < before
    assert first["price"].sum() == pytest.approx(full["price"].sum())


def test_many_wheels(client):
    futures = client.map(wheel_price, ["mild", "vintage"] * 20, [5] * 40)
    assert len(client.gather(futures)) == 40


def test_bad_wheels_are_skipped(client):
    futures = client.map(wheel_price, ["mild"] * 4, [5, 0, 7, -1])
    good = client.gather(futures, errors="skip")
    assert good == [31.0, 43.4]
