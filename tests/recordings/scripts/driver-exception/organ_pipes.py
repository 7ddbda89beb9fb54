"""Nightly check of the organ pipe catalogue: writes its tests into a folder and runs them with pytest."""

import sys
import tempfile
from pathlib import Path

import pytest

CONFTEST = """
import pytest
from dask.distributed import Client

@pytest.fixture(scope="session")
def client():
    with Client(n_workers=2, threads_per_worker=1, dashboard_address=None) as client:
        yield client
"""

TESTS = """
import dask
import dask.bag as db
from dask.distributed import get_worker

def length(note):
    return 343 / (2 * 440 * 2 ** (note / 12))

def on_worker(note):
    worker = get_worker()
    worker.pipes = getattr(worker, "pipes", 0) + 1
    return worker.pipes

def test_remote_length(client):
    assert round(client.submit(length, 0).result(), 3) == 0.39

def test_lengths_without_cluster():
    dask.config.set(scheduler="synchronous")
    lengths = db.from_sequence(range(-12, 13), npartitions=3).map(length).compute()
    assert lengths == sorted(lengths, reverse=True)

def test_each_worker_counts(client):
    counts = db.from_sequence(range(10), npartitions=5).map(on_worker).compute()
    assert len(counts) == 10
"""


def main():
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "conftest.py").write_text(CONFTEST)
        (Path(folder) / "test_pipes.py").write_text(TESTS)
        return pytest.main(
            ["-q", "-p", "no:cacheprovider", "--rootdir", folder, folder]
        )


if __name__ == "__main__":
    sys.exit(main())
