"""Reads the field loggers' text logs of the quokka survey and lists what they complained about."""

import logging
import re
import tempfile
from collections import Counter
from pathlib import Path

import dask.bag as db
from dask.distributed import Client, LocalCluster

log = logging.getLogger("quokka")

PHRASES = [
    "INFO trap {n} armed",
    "INFO trap {n} closed, animal weighed",
    "WARNING battery of trap {n} at 11 %",
    "ERROR trap {n}: KeyError: 'ear_tag'",
    "Traceback (most recent call last):",
    '  File "/opt/logger/weigh.py", line 41, in weigh',
    "MemoryError: cannot buffer the picture of trap {n}",
    "distributed.nanny - WARNING - Worker exceeded 95% memory budget. Restarting...",
    "CRITICAL disk full: no space left on device",
    "INFO upload of trap {n} done",
]


def field_logs(folder, loggers=6, lines=3000):
    for logger in range(loggers):
        with open(folder / f"logger{logger}.log", "w") as out:
            for n in range(lines):
                phrase = PHRASES[(n * 7 + logger) % len(PHRASES)].format(n=n % 37)
                out.write(f"2026-03-{n % 28 + 1:02d} {phrase}\n")


def complaint(line):
    found = re.search(r"\b(ERROR|CRITICAL|MemoryError|WARNING|Traceback)\b", line)
    return found.group(1) if found else None


def main():
    logging.basicConfig(
        level=logging.INFO, format="%(asctime)s %(name)s %(levelname)s %(message)s"
    )
    with tempfile.TemporaryDirectory() as tmp:
        folder = Path(tmp)
        field_logs(folder)
        with (
            LocalCluster(
                n_workers=2, threads_per_worker=1, dashboard_address=":0"
            ) as cluster,
            Client(cluster),
        ):
            lines = db.read_text(str(folder / "*.log")).map(str.rstrip)
            loud = lines.filter(complaint)
            counts = Counter(dict(loud.map(complaint).frequencies().compute()))
            examples = loud.take(12, npartitions=-1)
        for line in examples:
            log.warning("field log says: %s", line)
        for word, times in counts.most_common():
            print(f"{word:12s} {times:6d}")
        print("Traceback lines are usual while loggers run firmware 2.1")


if __name__ == "__main__":
    main()
