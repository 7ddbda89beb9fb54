"""Checks of the honey laboratory's pipeline, run by the build server after every merge.

The pipeline reads the laboratory's batches, drops those that are out of range and grades the rest.
"""

import dask.bag as db
import pytest
from distributed import Client, LocalCluster

BATCHES = [
    {
        "batch": f"AC-{n:03d}",
        "moisture": 15.0 + (n % 13) * 0.5,
        "hmf": 2.0 + n % 40,
        "colour": 8 + n % 30,
    }
    for n in range(120)
]


class OutOfRange(ValueError):
    """A measurement that cannot be true."""


def check_batch(batch):
    if not 10 <= batch["moisture"] <= 25:
        raise OutOfRange(f"{batch['batch']}: moisture {batch['moisture']}")
    return batch


def grade_batch(batch):
    if batch["moisture"] < 18 and batch["hmf"] <= 15:
        return {**batch, "grade": "extra"}
    if batch["moisture"] <= 20 and batch["hmf"] <= 40:
        return {**batch, "grade": "standard"}
    return {**batch, "grade": "baker"}


def graded(batches):
    return db.from_sequence(batches, npartitions=4).map(check_batch).map(grade_batch)


@pytest.fixture(scope="module")
def client():
    with LocalCluster(
        n_workers=2, threads_per_worker=1, memory_limit="350MB", dashboard_address=None
    ) as cluster:
        with Client(cluster) as client:
            yield client


def test_impossible_moisture_is_refused(client):
    broken = BATCHES[:20] + [
        {"batch": "AC-900", "moisture": 178.0, "hmf": 3, "colour": 9}
    ]
    with pytest.raises(OutOfRange, match="AC-900"):
        graded(broken).compute()


def test_missing_field_is_refused(client):
    with pytest.raises(KeyError):
        graded([{"batch": "AC-901", "hmf": 3, "colour": 9}]).compute()


def test_every_batch_is_graded(client):
    result = graded(BATCHES).compute()
    assert len(result) == len(BATCHES)
    assert {batch["grade"] for batch in result} == {"extra", "standard", "baker"}


def test_share_of_extra_grade(client):
    counts = dict(graded(BATCHES).pluck("grade").frequencies().compute())
    share = counts["extra"] / len(BATCHES)
    assert share >= 0.30, f"extra grade fell to {share:.0%}"


def test_division_by_colour_of_zero(client):
    future = client.submit(
        lambda batch: batch["hmf"] / batch["colour"], {"hmf": 4, "colour": 0}
    )
    with pytest.raises(ZeroDivisionError):
        future.result()


def test_colour_is_kept(client):
    colours = graded(BATCHES[:10]).pluck("colour").compute()
    assert colours == [batch["colour"] for batch in BATCHES[:10]]
