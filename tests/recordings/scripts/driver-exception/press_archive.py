"""Acceptance tests of the press archive's word index, run after the nightly build."""

import sys

import dask.bag as db
import pytest
from dask.distributed import Client, LocalCluster

HEADLINES = [
    "harbour bridge opens",
    "bridge closed for repairs",
    "mayor opens the fair",
    "storm closes the harbour",
    "fair weather for the regatta",
    "harbour dues rise",
] * 20


def tokens(line):
    return [w for w in line.split() if len(w) > 4]


@pytest.fixture(scope="module")
def client():
    with LocalCluster(
        n_workers=1, threads_per_worker=2, dashboard_address=":0"
    ) as cluster:
        with Client(cluster) as c:
            yield c


@pytest.fixture(scope="module")
def index(client):
    words = db.from_sequence(HEADLINES, npartitions=6).map(tokens).flatten()
    return dict(words.frequencies().compute())


def test_common_words(index):
    assert index["harbour"] == 60
    assert index["bridge"] == 40


def test_stop_words_left_out(index):
    assert "the" not in index
    assert "for" not in index


def test_short_nouns_are_indexed(index):
    assert index.get("fair", 0) == 40


def test_unknown_word(index):
    with pytest.raises(KeyError):
        index["zeppelin"]


if __name__ == "__main__":
    sys.exit(pytest.main(["-q", "-p", "no:cacheprovider", __file__]))
