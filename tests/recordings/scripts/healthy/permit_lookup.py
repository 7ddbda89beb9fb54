"""Classify yesterday's log lines by severity."""

import random
from collections import Counter

import dask.bag as db
from dask.distributed import Client, LocalCluster

LINES = [
    "2026-03-01 02:11 ERROR distributed.scheduler - Task train-7 marked as failed because 4 workers died",
    "2026-03-01 02:11 CRITICAL KilledWorker: Attempted to run task 'fit' on 4 different workers",
    "2026-03-01 02:12 WARNING distributed.nanny - Worker exceeded 95% memory budget. Restarting",
    "Traceback (most recent call last):\n  File 'job.py', line 3\nMemoryError: Unable to allocate 9.1 GiB",
    "2026-03-01 02:13 INFO permit 7781 granted",
]


def severity(line):
    for level in ("CRITICAL", "ERROR", "WARNING", "Traceback"):
        if level in line:
            print(line)
            return level
    return "INFO"


def main():
    rng = random.Random(5)
    with (
        LocalCluster(
            n_workers=2, threads_per_worker=1, dashboard_address=None
        ) as cluster,
        Client(cluster),
    ):
        lines = db.from_sequence([rng.choice(LINES) for _ in range(60)], npartitions=6)
        print(Counter(dict(lines.map(severity).frequencies().compute())))


if __name__ == "__main__":
    main()
