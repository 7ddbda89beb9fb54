"""Hourly passenger counts of the seaplane piers, from their door counters.

The counters' gateway writes one Parquet file per delivery, indexed by time.
We resample to hours for the whole archive and keep the busiest hours.
"""

import logging
import os
import sys
import tempfile
import traceback

import dask
import dask.dataframe as dd
import numpy as np
import pandas as pd
from distributed import Client, LocalCluster

dask.config.set({"distributed.scheduler.allowed-failures": 1})

FIRST = pd.Timestamp("2026-11-20")
DAYS = 8


def deliver(folder):
    """Deliveries of the gateway, one per night."""
    rng = np.random.default_rng(5)
    for day in range(DAYS):
        start = FIRST + pd.Timedelta(days=day)
        end = start + pd.Timedelta(hours=23, minutes=59)
        if day == DAYS - 2:
            # the gateway was off line: it repeats the last hours with the next delivery
            start = start - pd.Timedelta(hours=5)
        index = pd.date_range(start, end, freq="1min", name="seen")
        frame = pd.DataFrame(
            {
                "pier": rng.integers(1, 5, len(index)),
                "inward": rng.poisson(3, len(index)),
                "outward": rng.poisson(3, len(index)),
            },
            index=index,
        )
        frame.to_parquet(os.path.join(folder, f"delivery_{day:03d}.parquet"))


def check_delivery(path):
    """Number of rows that a delivery has; complains when counters are silent."""
    frame = pd.read_parquet(path)
    if (frame["inward"] == 0).mean() > 0.045:
        raise ValueError(f"counters nearly silent in {os.path.basename(path)}")
    return len(frame)


def survey(client, folder):
    """A look at every delivery; what it finds is only told, not enforced."""
    paths = [os.path.join(folder, name) for name in sorted(os.listdir(folder))]
    futures = client.map(check_delivery, paths)
    rows = 0
    for path, future in zip(paths, futures):
        try:
            rows += future.result()
        except ValueError as exc:
            logging.warning("%s", exc)
    logging.info("about %d rows in %d deliveries", rows, len(paths))


def hourly(folder):
    counts = dd.read_parquet(folder, calculate_divisions=True)
    counts["people"] = counts["inward"] + counts["outward"]
    logging.info(
        "%d partitions from %s to %s",
        counts.npartitions,
        counts.divisions[0],
        counts.divisions[-1],
    )
    return counts["people"].resample("1h").sum()


def report(series, top=5):
    busiest = series.nlargest(top).compute()
    for hour, people in busiest.items():
        print(f"{hour:%a %d %b %Hh}  {people:5d}")


def run():
    logging.basicConfig(level=logging.INFO, format="%(levelname)s %(message)s")
    with tempfile.TemporaryDirectory(prefix="piers") as folder:
        deliver(folder)
        cluster = LocalCluster(
            n_workers=2, threads_per_worker=1, dashboard_address=":0"
        )
        client = Client(cluster)
        try:
            survey(client, folder)
            report(hourly(folder))
        finally:
            client.close()
            cluster.close()


if __name__ == "__main__":
    try:
        run()
    except Exception:
        traceback.print_exc()
        sys.exit(70)
