import pathlib
import sys
import tempfile

import pytest

TESTS = """
import pytest
from dask.distributed import Client


def rain(mm):
    if mm < 0:
        raise ValueError(f"negative rain {mm}")
    return mm * 1.0


@pytest.fixture(scope="module")
def client():
    with Client(n_workers=1, threads_per_worker=1, dashboard_address=None) as c:
        yield c


def test_sum(client):
    assert sum(client.gather(client.map(rain, range(5)))) == 10


def test_negative(client):
    with pytest.raises(ValueError, match="negative rain"):
        client.submit(rain, -3).result()


@pytest.mark.xfail(strict=True)
def test_rounding(client):
    assert client.submit(rain, 2).result() == 2.5


@pytest.mark.skip(reason="gauge offline")
def test_gauge(client):
    raise RuntimeError
"""


def main():
    folder = pathlib.Path(tempfile.mkdtemp(prefix="rain-"))
    (folder / "test_rain.py").write_text(TESTS)
    return int(pytest.main(["-q", "-p", "no:cacheprovider", str(folder)]))


if __name__ == "__main__":
    sys.exit(main())
