"""Tests of the hop pricing tasks, errors included."""

import sys

import pytest
from dask.distributed import Client, LocalCluster


def price(kilos, alpha):
    if alpha <= 0:
        raise ValueError("alpha acid must be positive")
    return kilos * (4 + alpha)


@pytest.fixture(scope="module")
def client():
    with LocalCluster(
        n_workers=2, threads_per_worker=1, memory_limit="400MiB", dashboard_address=":0"
    ) as cluster:
        with Client(cluster) as c:
            yield c


def test_price(client):
    assert client.submit(price, 10, 6).result() == 100


def test_bad_alpha(client):
    with pytest.raises(ValueError, match="positive"):
        client.submit(price, 10, -1).result()


def test_wrong_type(client):
    with pytest.raises(TypeError):
        client.gather(client.map(price, [1, 2], ["high", "low"]))


@pytest.mark.xfail(reason="bulk discount is not there yet", strict=True)
def test_discount(client):
    assert client.submit(price, 1000, 6).result() == 9500


if __name__ == "__main__":
    sys.exit(pytest.main([__file__, "-q", "-p", "no:cacheprovider"]))
