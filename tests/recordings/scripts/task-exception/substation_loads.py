"""Quarter-hour loads of the substations: local meter clock to UTC, then the peak of each feeder."""

import logging
import time

import dask.dataframe as dd
import numpy as np
import pandas as pd
from dask.distributed import Client, LocalCluster

log = logging.getLogger("substations")
ZONE = "Europe/Berlin"


def meter_file(day):
    """As the meters send it: wall clock without offset, 96 values a day whatever the season."""
    start = pd.Timestamp(day)
    rng = np.random.default_rng(start.day_of_year)
    clock = pd.date_range(start, periods=96, freq="15min")
    feeders = ["F11", "F12", "F21", "F22"]
    return pd.DataFrame(
        {
            "feeder": np.repeat(feeders, 96),
            "clock": np.tile(clock, 4),
            "mw": (
                4 + 2 * np.sin(np.tile(np.arange(96), 4) / 15) + rng.normal(0, 0.1, 384)
            ).round(3),
        }
    )


def to_utc(frame):
    time.sleep(0.05)
    frame = frame.copy()
    frame["utc"] = frame["clock"].dt.tz_localize(ZONE).dt.tz_convert("UTC")
    return frame.drop(columns="clock")


def load_days(first, last):
    days = [str(d.date()) for d in pd.date_range(first, last)]
    meta = meter_file(days[0]).iloc[:0]
    return dd.from_map(meter_file, days, meta=meta)


def peaks(loads):
    utc = loads.map_partitions(to_utc, meta=to_utc(loads._meta))
    hourly = utc.assign(hour=utc["utc"].dt.floor("h"))
    return hourly.groupby(["feeder", "hour"])["mw"].mean().groupby("feeder").max()


def main():
    logging.basicConfig(level=logging.INFO)
    with (
        LocalCluster(
            n_workers=1, threads_per_worker=2, dashboard_address=":0"
        ) as cluster,
        Client(cluster),
    ):
        for first, last in [("2026-03-20", "2026-03-24"), ("2026-03-25", "2026-03-31")]:
            loads = load_days(first, last)
            log.info("%s to %s: %d files", first, last, loads.npartitions)
            log.info("peaks\n%s", peaks(loads).compute().round(2).to_string())


if __name__ == "__main__":
    main()
