"""Visitor counts of a group of galleries, hour by hour.

The cluster grows with the work and shrinks when the day's files are in, as the town hall's shared machines demand.  The turnstiles' service answers the first request of the day with an error now and then; the job repeats it.
"""

import argparse
import datetime as dt
import logging
import os
import tempfile
import time
from pathlib import Path

import pandas as pd
from distributed import Client, LocalCluster, wait

GALLERIES = ["old masters", "prints", "modern", "sculpture"]


class TurnstileBusy(Exception):
    pass


def fetch(marks, gallery, day):
    """Counts of one gallery and day; the mark says that the service is awake for this pair."""
    mark = Path(marks) / f"{gallery.replace(' ', '_')}-{day}"
    if day % 9 == 0 and not mark.exists():
        mark.touch()
        raise TurnstileBusy(f"{gallery} day {day}: 503")
    time.sleep(0.25)
    hours = pd.date_range(
        dt.datetime(2026, 10, 1) + dt.timedelta(days=day), periods=10, freq="h"
    )
    n = len(gallery)
    return pd.DataFrame(
        {
            "gallery": gallery,
            "hour": hours,
            "visits": [(n * 13 + day * 7 + h * 11) % 90 for h in range(10)],
        }
    )


def daily(frame):
    return frame.groupby(["gallery", frame["hour"].dt.date])["visits"].sum()


def total(parts):
    return pd.concat(parts).groupby(level="gallery").sum()


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--days", type=int, default=19)
    args = parser.parse_args()
    logging.basicConfig(level=logging.WARNING)

    with tempfile.TemporaryDirectory() as marks:
        with LocalCluster(
            n_workers=1,
            threads_per_worker=1,
            memory_limit="350MB",
            dashboard_address=None,
        ) as cluster:
            cluster.adapt(minimum=1, maximum=3, interval="1s", wait_count=6)
            with Client(cluster) as client:
                sums = []
                for gallery in GALLERIES:
                    frames = client.map(
                        fetch,
                        [marks] * args.days,
                        [gallery] * args.days,
                        range(args.days),
                        retries=4,
                        pure=False,
                    )
                    sums.extend(client.map(daily, frames, retries=2))
                wait(sums)
                table = client.submit(total, sums, retries=2).result()
                print(table.to_string())
                print("pid", os.getpid(), "done")


if __name__ == "__main__":
    main()
