"""Ring recoveries of eider ducks: pairs of stations between which marked birds were seen.

Each station's record is loaded into an in-memory database on one machine; the pairs are then matched by SQL.
"""

import itertools
import logging
import os
import random
import sqlite3
import sys

from distributed import Client, LocalCluster, wait

LOG = logging.getLogger("eiders")
STATIONS = ["Amrum", "Christianso", "Farne", "Hailuoto", "Texel"]
DEADLINE = float(os.environ.get("EIDER_DEADLINE", "15"))


class StationRecord:
    """Sightings of one station with an index on the ring."""

    def __init__(self, name):
        self.name = name
        self.db = sqlite3.connect(":memory:", check_same_thread=False)
        self.db.execute("create table seen (ring text, day integer)")
        self.db.execute("create index by_ring on seen (ring)")

    def add(self, rows):
        with self.db:
            self.db.executemany("insert into seen values (?, ?)", rows)
        return self

    def first_seen(self):
        return dict(self.db.execute("select ring, min(day) from seen group by ring"))

    def __len__(self):
        return self.db.execute("select count(*) from seen").fetchone()[0]


def load_station(name, year):
    rng = random.Random(f"{name}-{year}")
    rows = [(f"DA{rng.randint(1, 900):05d}", rng.randint(60, 300)) for _ in range(3000)]
    return StationRecord(name).add(rows)


def match(left, right):
    a, b = left.first_seen(), right.first_seen()
    both = a.keys() & b.keys()
    gaps = sorted(abs(a[r] - b[r]) for r in both)
    return left.name, right.name, len(both), gaps[len(gaps) // 2] if gaps else None


def summary(rows):
    return "\n".join(f"{a:12s} {b:12s} {n:5d} {gap}" for a, b, n, gap in sorted(rows))


def run(year):
    with (
        LocalCluster(
            n_workers=2,
            threads_per_worker=1,
            memory_limit="400MB",
            dashboard_address=None,
        ) as cluster,
        Client(cluster) as client,
    ):
        names = sorted(w["name"] for w in client.scheduler_info()["workers"].values())
        records = {
            s: client.submit(
                load_station, s, year, key=f"record-{s}", workers=[names[i % 2]]
            )
            for i, s in enumerate(STATIONS)
        }
        sizes = client.gather([client.submit(len, r) for r in records.values()])
        LOG.info("%d sightings at %d stations", sum(sizes), len(sizes))

        pairs = [
            client.submit(match, records[a], records[b], key=f"match-{a}-{b}")
            for a, b in itertools.combinations(STATIONS, 2)
        ]
        report = client.submit(summary, pairs, key="summary")
        try:
            wait(report, timeout=DEADLINE)
        except TimeoutError:
            states = [f.status for f in pairs]
            LOG.error(
                "no report after %.0f s, %d of %d pairs are matched",
                DEADLINE,
                states.count("finished"),
                len(pairs),
            )
            raise
        print(report.result())


if __name__ == "__main__":
    logging.basicConfig(level=logging.INFO)
    run(int(sys.argv[1]) if len(sys.argv) > 1 else 2026)
