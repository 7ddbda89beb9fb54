"""Features of the journeys of a rail operator's passengers, one block per region and day.

The helper module ``timetables`` keeps what it has expanded, since most blocks of a region need the same timetable.
"""

import logging
import os
import sys
from pathlib import Path

os.environ.setdefault("DASK_DISTRIBUTED__SCHEDULER__ALLOWED_FAILURES", "1")

from dask.distributed import Client, LocalCluster  # noqa: E402

logging.basicConfig(level=logging.INFO, format="%(levelname)s:%(name)s:%(message)s")
log = logging.getLogger("journeys")

TIMETABLES = '''
"""Expands timetables to one row per stop and minute."""
import functools
import time

import numpy as np

STOPS = {"north": 950, "south": 900, "coast": 900}


@functools.lru_cache(maxsize=None)
def expanded(region, day):
    """The waiting time at each stop for each minute of the day."""
    rng = np.random.default_rng(sum(map(ord, region)) + day)
    parts = []
    for _ in range(16):
        parts.append(rng.random((STOPS[region], 1440)))
        time.sleep(0.04)
    return parts


def waiting(region, day, stop, minute):
    parts = expanded(region, day)
    return float(np.mean([p[stop % STOPS[region], minute % 1440] for p in parts]))
'''


def journey_block(region, day):
    import random
    import time

    import timetables

    rng = random.Random(f"{region}-{day}")
    total = 0.0
    for _ in range(2000):
        total += timetables.waiting(
            region, day, rng.randrange(1000), rng.randrange(1440)
        )
    time.sleep(0.5)  # the call of the tariff service
    return {"region": region, "day": day, "wait": total / 2000}


def blocks(days):
    for region in ("north", "south", "coast"):
        for day in range(1, days + 1):
            yield region, day


class FeatureRun:
    def __init__(self, days):
        self.days = days
        self.rows = []

    def __enter__(self):
        Path("timetables.py").write_text(TIMETABLES)
        sys.path.insert(0, os.getcwd())
        self.cluster = LocalCluster(
            n_workers=2,
            threads_per_worker=1,
            memory_limit="370MB",
            dashboard_address=None,
            silence_logs=logging.ERROR,
        )
        self.client = Client(self.cluster)
        return self

    def __exit__(self, *exc):
        log.info("%d rows written", len(self.rows))
        self.client.close()
        self.cluster.close()
        Path("timetables.py").unlink()

    def run(self):
        futures = [
            self.client.submit(
                journey_block, region, day, key=f"journey_block-{region}-{day:02d}"
            )
            for region, day in blocks(self.days)
        ]
        log.info("%d blocks", len(futures))
        for future in futures:
            self.rows.append(future.result())


def main():
    with FeatureRun(days=7) as run:
        run.run()
        best = min(run.rows, key=lambda r: r["wait"])
        log.info("shortest waits in %s on day %d", best["region"], best["day"])


if __name__ == "__main__":
    main()
