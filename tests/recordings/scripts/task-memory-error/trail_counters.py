"""Nightly footfall of the trail counters: events of the gateways -> visits per counter -> weekly table."""

import argparse
import csv
import logging
import os
import random
import sys
import tempfile
import time

import numpy as np
from dask import delayed
from distributed import Client, LocalCluster

log = logging.getLogger("trail_counters")

GATEWAYS = ["aspenridge", "blackfell", "coldwater", "dunmoor", "eastgap", "foxhollow"]
COUNTERS = 4_000


def make_drop(folder, events):
    """The gateways drop one file a night; a counter that was never commissioned reports its factory address."""
    rng = random.Random(22)
    paths = []
    for gateway in GATEWAYS:
        path = os.path.join(folder, f"{gateway}.csv")
        with open(path, "w", newline="") as out:
            writer = csv.writer(out)
            writer.writerow(["counter", "second", "direction"])
            for n in range(events):
                row = [rng.randrange(COUNTERS), rng.randrange(86_400), rng.choice("IO")]
                if gateway == "dunmoor" and n == events // 3:
                    row = [0xFFFFFFFFFFFF, 43_210, "I"]
                writer.writerow(row)
        paths.append(path)
    return paths


@delayed
def read_events(path):
    counters, seconds = [], []
    with open(path, newline="") as source:
        for row in csv.DictReader(source):
            if row["direction"] == "I":
                counters.append(int(row["counter"]))
                seconds.append(int(row["second"]))
    time.sleep(2.5)  # the share of the gateways is slow at night
    counters = np.array(counters, dtype="int64")
    print(
        f"{os.path.basename(path)}: {len(counters)} visits, counters {counters.min()}..{counters.max()}",
        flush=True,
    )
    return {
        "gateway": os.path.basename(path)[:-4],
        "counters": counters,
        "seconds": np.array(seconds),
    }


@delayed
def drop_night(events, opens=6 * 3600, closes=22 * 3600):
    keep = (events["seconds"] >= opens) & (events["seconds"] < closes)
    return {"gateway": events["gateway"], "counters": events["counters"][keep]}


@delayed
def visits_per_counter(events):
    counts = np.bincount(events["counters"], minlength=COUNTERS)
    return counts


@delayed
def merge(parts):
    width = max(len(part) for part in parts)
    total = np.zeros(width, dtype="int64")
    for part in parts:
        total[: len(part)] += part
    return total


def report(total, top):
    order = np.argsort(total)[::-1][:top]
    for counter in order:
        log.info("counter %5d: %d visits", counter, total[counter])


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--events", type=int, default=30_000)
    parser.add_argument("--top", type=int, default=5)
    parser.add_argument("--memory", default="256MiB")
    args = parser.parse_args()
    logging.basicConfig(
        level=logging.INFO, format="%(asctime)s %(levelname)s %(name)s: %(message)s"
    )

    with tempfile.TemporaryDirectory(prefix="trails-") as folder:
        paths = make_drop(folder, args.events)
        log.info(
            "%d files of tonight, %.1f MB",
            len(paths),
            sum(map(os.path.getsize, paths)) / 1e6,
        )
        with (
            LocalCluster(
                n_workers=2,
                threads_per_worker=1,
                memory_limit=args.memory,
                dashboard_address=":0",
            ) as cluster,
            Client(cluster) as client,
        ):
            log.info("cluster: %d workers of %s", len(cluster.workers), args.memory)
            parts = [
                visits_per_counter(drop_night(read_events(path))) for path in paths
            ]
            total = client.compute(merge(parts), retries=1).result(timeout=300)
            report(total, args.top)
    log.info("footfall written")
    return 0


if __name__ == "__main__":
    sys.exit(main())
