import sys
import textwrap
import tempfile
import pathlib

import pytest

TESTS = """
import pytest
from dask.distributed import Client, LocalCluster


def hourly_load(hour):
    base = 420 + 30 * (hour % 24)
    return base - (60 if hour == 47 else 0)


@pytest.fixture(scope="module")
def client():
    with LocalCluster(n_workers=1, threads_per_worker=2, processes=False, dashboard_address=None) as cluster:
        with Client(cluster) as c:
            yield c


def test_first_hour(client):
    assert client.submit(hourly_load, 0).result() == 420


def test_daily_pattern(client):
    loads = client.gather(client.map(hourly_load, range(72)))
    for day in range(3):
        assert loads[day * 24:(day + 1) * 24] == loads[:24]


def test_peak(client):
    assert max(client.gather(client.map(hourly_load, range(24)))) == 1110
"""


def main():
    folder = pathlib.Path(tempfile.mkdtemp(prefix="grid-"))
    (folder / "test_grid.py").write_text(textwrap.dedent(TESTS))
    return pytest.main(["-q", "-p", "no:cacheprovider", str(folder)])


if __name__ == "__main__":
    sys.exit(main())
