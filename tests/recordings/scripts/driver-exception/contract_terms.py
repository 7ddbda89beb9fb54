"""Acceptance suite for the contract term calculator."""

import sys
import tempfile
import textwrap
from pathlib import Path

import pytest

SUITE = """
import pytest
from dask.distributed import Client, LocalCluster


def notice_days(contract):
    months = contract["months"]
    return {"fixed": 0, "rolling": 30}[contract["kind"]] + months // 12 * 7


@pytest.fixture(scope="module")
def client():
    with LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None) as cluster:
        with Client(cluster) as c:
            yield c


def test_fixed(client):
    assert client.submit(notice_days, {"kind": "fixed", "months": 24}).result() == 14


def test_unknown_kind(client):
    with pytest.raises(KeyError):
        client.submit(notice_days, {"kind": "trial", "months": 3}).result()


def test_rolling(client):
    assert client.submit(notice_days, {"kind": "rolling", "months": 18}).result() == 40


@pytest.mark.xfail(reason="leap years are not supported yet")
def test_leap(client):
    assert client.submit(notice_days, {"kind": "fixed", "months": 48}).result() == 29


def test_many(client):
    days = client.gather(client.map(notice_days, [{"kind": "fixed", "months": m} for m in range(12)]))
    assert set(days) == {0}
"""


def main():
    with tempfile.TemporaryDirectory() as tmp:
        suite = Path(tmp) / "test_terms.py"
        suite.write_text(textwrap.dedent(SUITE))
        return pytest.main(["-q", "-p", "no:cacheprovider", str(suite)])


if __name__ == "__main__":
    sys.exit(main())
