"""Rowing league: one process per region (each with its own small cluster) makes the roster; the parent joins them."""

import json
import multiprocessing as mp
import os
import sys
import tempfile

import dask.bag as db
from dask.distributed import Client, LocalCluster

REGIONS = {
    "north": {"clubs": 9, "season": 2026},
    "south": {"clubs": 12, "season": 2026},
}


def applications(region, clubs):
    """Made-up applications of rowers, as the web form stores them."""
    out = []
    for club in range(clubs):
        for n in range(14):
            out.append(
                {
                    "region": region,
                    "club": f"{region[:1].upper()}{club:02d}",
                    "rower": f"{region}-{club}-{n}",
                    "born": 1985 + (club * 7 + n * 3) % 22,
                    "weight": 58 + (club * 5 + n * 11) % 40,
                }
            )
    if region == "south":
        out[101]["born"] = None  # the form let it through
    return out


def age_class(entry, season):
    age = season - entry["born"]
    if age < 23:
        return "U23"
    return "senior" if age < 35 else "masters"


def place(entry, season):
    return dict(entry, klass=age_class(entry, season), light=entry["weight"] < 72)


def make_roster(region, options, folder):
    with (
        LocalCluster(
            n_workers=1, threads_per_worker=1, processes=False, dashboard_address=None
        ) as cluster,
        Client(cluster) as client,
    ):
        bag = db.from_sequence(applications(region, options["clubs"]), npartitions=6)
        placed = bag.map(place, season=options["season"])
        counts = client.compute(
            placed.map(lambda e: (e["klass"], e["light"])).frequencies()
        ).result()
    with open(os.path.join(folder, f"{region}.json"), "w") as out:
        json.dump([[k, light, n] for (k, light), n in counts], out)


def main():
    folder = tempfile.mkdtemp(prefix="rosters-")
    context = mp.get_context("spawn")
    children = {}
    for region, options in REGIONS.items():
        child = context.Process(
            target=make_roster, args=(region, options, folder), name=f"roster-{region}"
        )
        child.start()
        children[region] = child
    for region, child in children.items():
        child.join(60)
        print(f"region {region}: process ended with {child.exitcode}", flush=True)

    total = {}
    for region in REGIONS:
        with open(os.path.join(folder, f"{region}.json")) as rows:
            for klass, light, n in json.load(rows):
                total[klass, light] = total.get((klass, light), 0) + n
    print(total)


if __name__ == "__main__":
    try:
        main()
    except FileNotFoundError as error:
        print(f"roster incomplete: {error}", file=sys.stderr)
        sys.exit(5)
