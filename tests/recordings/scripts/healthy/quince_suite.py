"""Run the quince suite before the nightly load."""

import sys
import tempfile
from pathlib import Path

import pytest

TESTS = """
import pytest
from distributed import Client, LocalCluster


@pytest.fixture(scope="module")
def client(tmp_path_factory):
    with LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None,
                      local_directory=str(tmp_path_factory.mktemp("dask"))) as cluster:
        with Client(cluster) as client:
            yield client


def peel(quince):
    if quince < 0:
        raise ValueError(f"no such quince: {quince}")
    return quince - 1


def test_peel(client):
    assert client.submit(peel, 4).result() == 3


def test_negative(client):
    with pytest.raises(ValueError, match="no such quince"):
        client.submit(peel, -2).result()


@pytest.mark.xfail(reason="known rounding", strict=True)
def test_rounding(client):
    assert client.submit(round, 2.5).result() == 3


@pytest.mark.skip(reason="needs the press")
def test_press():
    raise AssertionError
"""


def main():
    with tempfile.TemporaryDirectory() as tmp:
        tests = Path(tmp) / "test_quince.py"
        tests.write_text(TESTS)
        return pytest.main(
            [
                "-q",
                "-p",
                "no:cacheprovider",
                "--basetemp",
                str(Path(tmp) / "base"),
                str(tests),
            ]
        )


if __name__ == "__main__":
    sys.exit(int(main()))
