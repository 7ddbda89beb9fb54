"""Unit tests of the checkout rules, run before each release."""

import sys
import tempfile
from pathlib import Path

import pytest

TESTS = """
import pytest
from dask.distributed import Client, LocalCluster, KilledWorker
import dask, os


def discount(cart):
    if not cart:
        raise ValueError("empty cart")
    return sum(cart) * (0.9 if len(cart) > 2 else 1)


def vanish(x):
    os._exit(9)


@pytest.fixture(scope="module")
def client():
    with dask.config.set({"distributed.scheduler.allowed-failures": 0}):
        with LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None) as cluster, Client(cluster) as c:
            yield c


def test_discount(client):
    assert client.submit(discount, [1, 2, 3]).result() == pytest.approx(5.4)


def test_empty_cart(client):
    with pytest.raises(ValueError, match="empty"):
        client.submit(discount, []).result()


def test_worker_death_is_reported(client):
    with pytest.raises(KilledWorker):
        client.submit(vanish, 1).result()


@pytest.mark.xfail(strict=True, raises=TypeError)
def test_text_cart(client):
    client.submit(discount, ["a"]).result()


@pytest.mark.skip(reason="needs the payment sandbox")
def test_payment():
    raise AssertionError
"""

if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as tmp:
        (Path(tmp) / "test_checkout.py").write_text(TESTS)
        code = pytest.main(["-q", "-p", "no:cacheprovider", tmp])
    sys.exit(int(code))
