"""Nightly acceptance tests of the mooring pipeline, run with pytest."""

import sys
import time

import numpy as np
import pytest
from dask.distributed import Client, LocalCluster


def tension(load):
    time.sleep(0.1)
    if load < 0:
        raise ValueError("a mooring cannot push")
    return load * 1.35


def line_table(vessel):
    time.sleep(0.1)
    rng = np.random.default_rng(vessel)
    lines = 8 if vessel != 4 else 5
    return rng.uniform(20, 80, lines)


def spring_line(table):
    time.sleep(0.1)
    return float(table[6] + table[7])


@pytest.fixture(scope="module")
def client():
    with LocalCluster(
        n_workers=2, threads_per_worker=1, memory_limit="400MB", dashboard_address=":0"
    ) as cluster:
        with Client(cluster) as client:
            client.wait_for_workers(2)
            yield client


def test_tension_grows_with_load(client):
    values = client.gather(client.map(tension, [10, 20, 30]))
    assert values == sorted(values)


def test_negative_loads_are_refused(client):
    with pytest.raises(ValueError, match="cannot push"):
        client.submit(tension, -5).result()


def test_every_vessel_has_lines(client):
    tables = client.gather(client.map(line_table, range(8)))
    assert all(len(table) for table in tables)


def test_spring_lines_hold(client):
    tables = client.map(line_table, range(8))
    forces = client.gather(client.map(spring_line, tables))
    assert max(forces) < 200


def test_results_are_repeatable(client):
    first = client.submit(line_table, 3, pure=False).result()
    second = client.submit(line_table, 3, pure=False).result()
    assert (first == second).all()


if __name__ == "__main__":
    sys.exit(pytest.main([__file__, "-q", "-p", "no:cacheprovider", "--tb=short"]))
