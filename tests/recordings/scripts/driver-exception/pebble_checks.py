"""Run the pebble acceptance checks before the release job."""

import sys
import tempfile
from pathlib import Path

import pytest

TESTS = """
import dask.dataframe as dd
import pandas as pd
import pytest
from distributed import Client, LocalCluster


@pytest.fixture(scope="module")
def client(tmp_path_factory):
    with LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None,
                      local_directory=str(tmp_path_factory.mktemp("dask"))) as cluster:
        with Client(cluster) as client:
            yield client


@pytest.fixture
def pebbles():
    frame = pd.DataFrame({"bay": ["a", "b", None, "a"] * 25, "grams": range(100)})
    return dd.from_pandas(frame, npartitions=4)


def test_rows(client, pebbles):
    assert len(pebbles) == 100


def test_weight_by_bay(client, pebbles):
    by_bay = pebbles.groupby("bay").grams.sum().compute()
    assert by_bay.sum() == 4950


def test_bad_column(client, pebbles):
    with pytest.raises(AttributeError):
        pebbles.carats
"""


def main():
    with tempfile.TemporaryDirectory() as tmp:
        tests = Path(tmp) / "test_pebbles.py"
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
