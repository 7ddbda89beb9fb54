"""Warbler notes: counts the species that volunteers name in their field notes.

Notes come as text files by district and month, one observation a line:
    date;observer;species;count;remark
"""

import collections
import datetime
import glob
import os
import random

import dask
import dask.bag as db
from dask.distributed import Client, LocalCluster, wait

SPECIES = [
    "reed warbler",
    "sedge warbler",
    "wood warbler",
    "icterine warbler",
    "blackcap",
]
OBSERVERS = ["Jokinen", "Mäkelä", "Sørensen", "Virtanen", "Österman", "Lindqvist"]
Note = collections.namedtuple("Note", "date observer species count")


def write_notes(folder, seed=3):
    dice = random.Random(seed)
    os.makedirs(folder, exist_ok=True)
    for district in range(12):
        lines = []
        for _ in range(300):
            day = datetime.date(2026, 5, 1) + datetime.timedelta(
                days=dice.randrange(60)
            )
            lines.append(
                f"{day};{dice.choice(OBSERVERS)};{dice.choice(SPECIES)};{dice.randrange(1, 9)};-\n"
            )
        # district 9 has a new coordinator, with a new computer
        coding = "cp1252" if district == 9 else "utf-8"
        with open(
            f"{folder}/district-{district:02d}.txt", "w", encoding=coding
        ) as stream:
            stream.writelines(lines)


def parse(line):
    day, observer, species, count, _ = line.rstrip("\n").split(";")
    return Note(datetime.date.fromisoformat(day), observer, species, int(count))


def in_season(note, first=datetime.date(2026, 5, 5), last=datetime.date(2026, 6, 25)):
    return first <= note.date <= last


def add(total, note):
    total = dict(total)
    total[note.species] = total.get(note.species, 0) + note.count
    return total


def merge(left, right):
    return {name: left.get(name, 0) + right.get(name, 0) for name in {*left, *right}}


def ring_registry(year):
    """The ringing centre's table; it appears in autumn, and later in some years."""
    return open(f"rings/{year}.csv").read()


def known_rings(client):
    futures = client.map(ring_registry, [2025, 2026], retries=1)
    wait(futures)
    good = [future.result() for future in futures if future.status == "finished"]
    print(f"ring tables: {len(good)} of {len(futures)}, going on", flush=True)
    return good


def census(folder):
    notes = db.read_text(
        f"{folder}/district-*.txt", encoding="utf-8", include_path=False
    )
    parsed = notes.map(parse).filter(in_season)
    observers = parsed.pluck(1).distinct()
    counts = parsed.fold(add, merge, initial={})
    return dask.compute(counts, observers, retries=1)


def main():
    write_notes("notes")
    print(f"{len(glob.glob('notes/*.txt'))} districts")
    cluster = LocalCluster(
        n_workers=2, threads_per_worker=1, processes=True, dashboard_address=":0"
    )
    with cluster, Client(cluster) as client:
        known_rings(client)
        counts, observers = census("notes")
        for species, number in sorted(counts.items(), key=lambda item: -item[1]):
            print(f"{species:<20}{number:>7}")
        print("observers:", ", ".join(sorted(observers)))


if __name__ == "__main__":
    main()
