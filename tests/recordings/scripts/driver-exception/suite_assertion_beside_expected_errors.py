"""Tests of the tariff functions."""

import dask
import pytest
from distributed import Client, LocalCluster


def tariff(weight):
    if weight > 30:
        raise OverflowError(f"{weight} kg is freight, not a parcel")
    return round(3.9 + 0.5 * weight, 2)


@pytest.fixture(scope="session")
def client():
    with LocalCluster(
        n_workers=2, threads_per_worker=1, dashboard_address=":0"
    ) as cluster:
        with Client(cluster) as client:
            yield client


@pytest.mark.parametrize("weight", [31, 50])
def test_refuses_freight(client, weight):
    with pytest.raises(OverflowError):
        client.submit(tariff, weight).result()


def test_light_parcels(client):
    assert client.gather(client.map(tariff, [1, 2])) == [4.4, 4.9]


def test_sum_of_a_day(client):
    total = dask.delayed(sum)([dask.delayed(tariff)(weight) for weight in range(10)])
    assert total.compute() == 62.5


def test_refuses_freight_delayed(client):
    with pytest.raises(OverflowError):
        dask.delayed(tariff)(99).compute()
