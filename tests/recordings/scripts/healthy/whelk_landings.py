"""Landings of the shellfish boats: skippers send one JSON file per trip.

Files that can't be read are put aside with a line in the log; the landing
statistics are made from the rest, and the harbour master gets both lists.
"""

import json
import logging
import pathlib
import random
import sys
from collections import defaultdict

from dask.distributed import Client, LocalCluster

HARBOURS = ["Whitby", "Brixham", "Oban", "Padstow"]

logging.basicConfig(level=logging.INFO, format="%(levelname)s %(name)s %(message)s")
log = logging.getLogger("landings")


def inbox(folder):
    folder.mkdir(parents=True, exist_ok=True)
    rnd = random.Random(5)
    for trip in range(90):
        text = json.dumps(
            {
                "boat": f"B{rnd.randrange(30):02d}",
                "harbour": rnd.choice(HARBOURS),
                "hours": rnd.randrange(4, 40),
                "catch": [
                    {"kind": kind, "kg": rnd.randrange(20, 900)}
                    for kind in ("whelk", "crab", "cockle")
                ],
            },
        )
        if trip in (13, 47, 71):
            text = text[: len(text) // 2]
        if trip == 60:
            text = text.replace('"hours"', '"hrs"')
        (folder / f"trip_{trip:04d}.json").write_text(text)


def read_trip(path):
    """One trip, or the reason why it can't be used."""
    logger = logging.getLogger("landings.reader")
    name = pathlib.Path(path).name
    try:
        trip = json.loads(pathlib.Path(path).read_text())
        weight = sum(part["kg"] for part in trip["catch"])
        return {
            "name": name,
            "harbour": trip["harbour"],
            "kg": weight,
            "kg_per_hour": weight / trip["hours"],
        }
    except (json.JSONDecodeError, KeyError) as error:
        logger.warning("skipping %s: %s: %s", name, type(error).__name__, error)
        return {"name": name, "skipped": f"{type(error).__name__}: {error}"}


def statistics(trips):
    per_harbour = defaultdict(lambda: {"trips": 0, "kg": 0, "best": 0.0})
    for trip in trips:
        if "skipped" in trip:
            continue
        row = per_harbour[trip["harbour"]]
        row["trips"] += 1
        row["kg"] += trip["kg"]
        row["best"] = max(row["best"], round(trip["kg_per_hour"], 1))
    return dict(per_harbour)


def main():
    folder = pathlib.Path("trips")
    inbox(folder)
    paths = [str(path) for path in sorted(folder.glob("*.json"))]
    with LocalCluster(
        n_workers=2, threads_per_worker=1, memory_limit="300MB", dashboard_address=None
    ) as cluster:
        with Client(cluster) as client:
            trips = client.gather(client.map(read_trip, paths, batch_size=20))
            table = client.submit(statistics, trips).result()
    skipped = [trip for trip in trips if "skipped" in trip]
    for trip in skipped:
        log.info("put aside: %s (%s)", trip["name"], trip["skipped"])
    if len(skipped) > len(paths) / 10:
        log.error("too many unreadable files: %d of %d", len(skipped), len(paths))
        return 1
    pathlib.Path("landings.json").write_text(
        json.dumps(table, indent=1, sort_keys=True)
    )
    pathlib.Path("put_aside.txt").write_text(
        "".join(f"{trip['name']}\n" for trip in skipped)
    )
    log.info(
        "%d trips in %d harbours, %d files put aside",
        len(trips) - len(skipped),
        len(table),
        len(skipped),
    )
    return 0


if __name__ == "__main__":
    sys.exit(main())
