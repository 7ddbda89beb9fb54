"""Asks the parishes which organists are free and makes the rosters, one deanery after the other.

The answers take long and cost no computing, so a deanery gets one process with many threads. The clusters are
small and are closed before the next deanery comes.
"""

import json
import random
import time
from pathlib import Path

from dask.distributed import Client, LocalCluster

DEANERIES = {"alton": 12, "basing": 16, "crondal": 12, "droxford": 16}
SUNDAYS = [f"2026-12-{d:02d}" for d in (6, 13, 20, 27)]
ORGANISTS = ["Abel", "Byrd", "Croft", "Dupre", "Frank", "Greene", "Howells", "Ireland"]


def ask_parish(parish):
    """The line to the parish office is slow."""
    time.sleep(0.5)
    rng = random.Random(parish)
    return parish, {day: rng.sample(ORGANISTS, 5) for day in SUNDAYS}


def match(answers):
    roster = {}
    for day in SUNDAYS:
        used = {}
        for parish, free in answers:
            name = min(free[day], key=lambda n: used.get(n, 0))
            used[name] = used.get(name, 0) + 1
            roster.setdefault(parish, {})[day] = name
    return roster


def roster_of(deanery, threads):
    parishes = [f"{deanery}-{n:02d}" for n in range(threads * 3)]
    with (
        LocalCluster(
            n_workers=1,
            threads_per_worker=threads,
            memory_limit="400MB",
            dashboard_address=None,
        ) as cluster,
        Client(cluster) as client,
    ):
        answers = client.map(ask_parish, parishes, key=f"ask_parish-{deanery}")
        roster = client.submit(match, answers, key=f"match-{deanery}").result()
    print(f"{deanery}: {len(roster)} parishes", flush=True)
    return roster


def check(rosters):
    for deanery, roster in rosters.items():
        for parish, days in roster.items():
            missing = set(SUNDAYS) - set(days)
            if missing:
                raise SystemExit(f"{deanery}: {parish} has nobody on {sorted(missing)}")


def main():
    rosters = {}
    for deanery, threads in DEANERIES.items():
        rosters[deanery] = roster_of(deanery, threads)
    check(rosters)
    Path("rosters.json").write_text(json.dumps(rosters, indent=1))
    print("rosters written:", sum(map(len, rosters.values())))


if __name__ == "__main__":
    main()
