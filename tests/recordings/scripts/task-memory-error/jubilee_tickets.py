"""Acceptance tests of the seat allocation for the jubilee concerts, run by the box office each night.

The allocation takes the sold tickets of every stand, looks for seats that are too near to each other and moves
them.  Stands are independent of each other.
"""

import time

import numpy as np
import pytest
from distributed import Client, LocalCluster

STANDS = {
    "north": 1_200,
    "east": 900,
    "south": 1_500,
    "lawn": 1_400_000,
    "balcony": 400,
}


class AllocationError(Exception):
    pass


def sold_tickets(stand, size):
    rng = np.random.default_rng(len(stand) * 31 + 7)
    seats = rng.uniform(0, 300, size=(size, 2))
    time.sleep(0.2)
    return seats


def distances(seats):
    x = seats[:, 0]
    y = seats[:, 1]
    return np.hypot(np.subtract.outer(x, x), np.subtract.outer(y, y))


def find_clashes(stand, seats, nearest=0.45):
    try:
        apart = distances(seats)
    except Exception as exc:
        raise AllocationError(f"stand {stand!r} could not be checked") from exc
    np.fill_diagonal(apart, np.inf)
    return int((apart < nearest).any(axis=1).sum())


def summary(stands, clashes):
    return dict(zip(stands, clashes))


@pytest.fixture(scope="module")
def client():
    with LocalCluster(
        n_workers=2, threads_per_worker=1, memory_limit="500MB", dashboard_address=None
    ) as cluster:
        with Client(cluster) as client:
            yield client


@pytest.fixture(scope="module")
def tickets(client):
    return {
        stand: client.submit(sold_tickets, stand, size, key=f"sold_tickets-{stand}")
        for stand, size in STANDS.items()
    }


def test_all_stands_sold(client, tickets):
    sizes = client.gather({s: client.submit(len, f) for s, f in tickets.items()})
    assert sizes == STANDS


def test_unknown_stand_is_refused(client):
    future = client.submit(find_clashes, "roof", None)
    with pytest.raises(AllocationError):
        future.result()


def test_small_stands(client, tickets):
    clashes = [
        client.submit(find_clashes, s, tickets[s], key=f"find_clashes-{s}-first")
        for s in ("north", "balcony")
    ]
    north, balcony = client.gather(clashes)
    assert north >= balcony


def test_nightly_allocation(client, tickets):
    clashes = [
        client.submit(
            find_clashes, stand, seats, retries=1, key=f"find_clashes-{stand}"
        )
        for stand, seats in tickets.items()
    ]
    result = client.submit(summary, list(STANDS), clashes, key="summary").result(
        timeout=40
    )
    assert set(result) == set(STANDS)
    assert max(result.values()) < 200_000
