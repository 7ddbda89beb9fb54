"""Upholstery claims: what customers complain about, from the branches' nightly files.

Branches send JSON, CSV and now and then rubbish. A file that cannot be read is written to the log and left out;
only if more than a third were unreadable the night would not count."""

import csv
import io
import json
import logging
import os
import sys

import dask
import dask.bag as db
from dask.distributed import Client, LocalCluster

logging.basicConfig(
    level=logging.INFO,
    stream=sys.stdout,
    format="%(asctime)s %(levelname)s %(message)s",
)
log = logging.getLogger("claims")
LIMIT = 1 / 3


def write_inbox(folder):
    os.makedirs(folder, exist_ok=True)
    reasons = ["seam", "spring", "stain", "colour", "leg"]
    for branch in range(20):
        rows = [
            {
                "sofa": f"U{branch:02d}{n:04d}",
                "reason": reasons[(n * n + branch) % 5],
                "eur": 20 + n % 70,
            }
            for n in range(250)
        ]
        path = os.path.join(folder, f"branch-{branch:02d}")
        if branch in (4, 13):
            with open(path + ".json", "wb") as stream:
                stream.write(json.dumps(rows).encode()[:5000])
        elif branch == 17:
            with open(path + ".json", "wb") as stream:
                stream.write(b"\xff\xfe\x00PK\x03\x04" * 40)
        elif branch % 2:
            with open(path + ".json", "w") as stream:
                json.dump(rows, stream)
        else:
            text = io.StringIO()
            writer = csv.DictWriter(text, ["sofa", "reason", "eur"])
            writer.writeheader()
            writer.writerows(rows)
            with open(path + ".csv", "w") as stream:
                stream.write(text.getvalue())


def read_branch(path):
    """(path, rows, problem): never raises for a bad file."""
    try:
        if path.endswith(".json"):
            with open(path, encoding="utf-8") as stream:
                rows = json.load(stream)
        else:
            with open(path, newline="") as stream:
                rows = [
                    {**row, "eur": int(row["eur"])} for row in csv.DictReader(stream)
                ]
        return path, rows, None
    except (ValueError, KeyError) as error:
        logging.getLogger("distributed.worker").warning("skipping %s: %s", path, error)
        return path, [], f"{type(error).__name__}: {error}"


def totals(rows):
    out = {}
    for row in rows:
        count, eur = out.get(row["reason"], (0, 0))
        out[row["reason"]] = (count + 1, eur + row["eur"])
    return out


def merge(parts):
    out = {}
    for part in parts:
        for reason, (count, eur) in part.items():
            old = out.get(reason, (0, 0))
            out[reason] = (old[0] + count, old[1] + eur)
    return out


def main():
    write_inbox("inbox")
    paths = sorted(os.path.join("inbox", name) for name in os.listdir("inbox"))
    with (
        LocalCluster(
            n_workers=2, threads_per_worker=2, dashboard_address=None
        ) as cluster,
        Client(cluster),
    ):
        branches = db.from_sequence(paths, npartitions=10).map(read_branch).persist()
        problems = branches.filter(lambda item: item[2] is not None).map(
            lambda item: (item[0], item[2])
        )
        sums = branches.map(lambda item: totals(item[1])).reduction(merge, merge)
        bad, table = dask.compute(problems, sums)
    for path, problem in bad:
        log.warning("left out %s (%s)", path, problem)
    if len(bad) > LIMIT * len(paths):
        log.error("%d of %d files could not be read", len(bad), len(paths))
        return 2
    for reason, (count, eur) in sorted(table.items()):
        log.info("%-8s %5d claims %8d EUR", reason, count, eur)
    return 0


if __name__ == "__main__":
    sys.exit(main())
