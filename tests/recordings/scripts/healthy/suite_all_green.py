"""Tests that pass, some of which expect errors of tasks."""

import pytest
from dask.distributed import Client


def ratio(a, b):
    return a / b


@pytest.fixture(scope="module")
def client():
    with Client(n_workers=2, threads_per_worker=1, dashboard_address=":0") as client:
        yield client


def test_ratio(client):
    assert client.submit(ratio, 1, 2).result() == 0.5


def test_zero(client):
    with pytest.raises(ZeroDivisionError):
        client.submit(ratio, 1, 0).result()


def test_text(client):
    with pytest.raises(TypeError):
        client.gather(client.map(ratio, ["a", "b"], [1, 2]))


def test_many(client):
    assert sum(client.gather(client.map(ratio, range(10), [2] * 10))) == 22.5
