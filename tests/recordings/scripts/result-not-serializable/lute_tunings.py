"""Checks of the catalogue of historical lutes, run each night under pytest.

For each collection an index of tunings is built on the cluster; the tests look whether the catalogue is complete and
whether strings have plausible pitches.
"""

import math
import sqlite3
import sys

import pytest
from distributed import Client, LocalCluster, wait

COLLECTIONS = {
    "bologna": [("frei", 6, 392.0), ("maler", 7, 388.0), ("unverdorben", 6, 401.0)],
    "paris": [("tieffenbrucker", 8, 392.0), ("sellas", 11, 371.0)],
    "vienna": [
        ("hoffmann", 13, 370.0),
        ("schelle", 13, 372.5),
        ("edlinger", 11, 368.0),
    ],
}


class TuningIndex:
    """Courses of each instrument, kept in a small database in memory for quick questions."""

    def __init__(self, collection, instruments):
        self.collection = collection
        self.db = sqlite3.connect(":memory:", check_same_thread=False)
        self.db.execute("create table course (maker text, number integer, hertz real)")
        for maker, courses, reference in instruments:
            self.db.executemany(
                "insert into course values (?, ?, ?)",
                [
                    (maker, i + 1, reference * 2 ** (-5 * i / 12))
                    for i in range(courses)
                ],
            )

    def makers(self):
        return [
            row[0]
            for row in self.db.execute(
                "select distinct maker from course order by maker"
            )
        ]

    def lowest(self):
        return self.db.execute("select min(hertz) from course").fetchone()[0]

    def __len__(self):
        return self.db.execute("select count(*) from course").fetchone()[0]


def read_collection(name):
    return [
        (maker.title(), courses, pitch) for maker, courses, pitch in COLLECTIONS[name]
    ]


def build_index(name, instruments):
    return TuningIndex(name, instruments)


def cents(hertz, reference=440.0):
    return 1200 * math.log2(hertz / reference)


@pytest.fixture(scope="module")
def client():
    with LocalCluster(
        n_workers=1, threads_per_worker=2, memory_limit="400MB", dashboard_address=None
    ) as cluster:
        with Client(cluster) as client:
            yield client


@pytest.fixture(scope="module")
def indexes(client):
    lists = {
        name: client.submit(read_collection, name, key=f"read_collection-{name}")
        for name in COLLECTIONS
    }
    built = {
        name: client.submit(build_index, name, rows, key=f"build_index-{name}")
        for name, rows in lists.items()
    }
    wait(list(built.values()))
    return built


def test_all_built(indexes):
    assert [future.status for future in indexes.values()] == ["finished"] * len(
        COLLECTIONS
    )


def test_courses_on_cluster(client, indexes):
    counts = client.gather(
        {name: client.submit(len, future) for name, future in indexes.items()}
    )
    assert counts["bologna"] == 19


def test_makers(client, indexes):
    paris = client.gather(indexes["paris"])
    assert paris.makers() == ["Sellas", "Tieffenbrucker"]


def test_pitch(client, indexes):
    for name, future in indexes.items():
        assert cents(future.result().lowest()) > -9000, name


@pytest.mark.skipif(sys.platform == "win32", reason="no paths there")
def test_unknown_collection():
    with pytest.raises(KeyError):
        read_collection("leipzig")


if __name__ == "__main__":
    sys.exit(pytest.main(["-q", "-p", "no:cacheprovider", __file__]))
