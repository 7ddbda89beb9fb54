"""Reads the inventory of street signs and lists those of each road."""

import logging
import random
import re
import sys
import tempfile
from collections import Counter
from pathlib import Path

import dask.bag as db
from dask.distributed import Client, LocalCluster

logging.basicConfig(
    level=logging.INFO, format="%(asctime)s %(levelname)s %(name)s %(message)s"
)
log = logging.getLogger("street_signs")

ENTRY = re.compile(
    r"(?P<road>[ABK]\d+)\s+km\s+(?P<km>\d+\.\d)\s+sign\s+(?P<code>\d{3}(-\d{2})?)"
)


def write_inventory(folder):
    rng = random.Random(3)
    for county in range(4):
        lines = []
        for _ in range(250):
            road = rng.choice("ABK") + str(rng.randint(1, 40))
            lines.append(
                f"{road} km {rng.uniform(0, 90):.1f} sign {rng.choice(['101', '205', '274-50', '274-70', '306'])}"
            )
        lines.insert(40, "# checked by the county")
        (folder / f"county-{county}.txt").write_text("\n".join(lines) + "\n")


def parse_entry(line):
    return ENTRY.match(line)


def is_entry(match):
    return match is not None


def limits(matches):
    return Counter(m["road"] for m in matches if m["code"].startswith("274"))


def main():
    with tempfile.TemporaryDirectory(prefix="signs-") as tmp:
        write_inventory(Path(tmp))
        with LocalCluster(
            n_workers=1,
            threads_per_worker=2,
            memory_limit="500MB",
            dashboard_address=None,
        ) as cluster:
            with Client(cluster):
                entries = (
                    db.read_text(f"{tmp}/county-*.txt")
                    .map(parse_entry)
                    .filter(is_entry)
                )
                log.info("%d entries", entries.count().compute())
                found = entries.compute()
                for road, number in limits(found).most_common(5):
                    log.info("%s has %d speed limits", road, number)
    return 0


if __name__ == "__main__":
    sys.exit(main())
