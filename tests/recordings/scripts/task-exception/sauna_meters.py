#!/usr/bin/env python
"""Sauna meters: energy per public sauna and hour of the day, from the parquet files that the meter gateway drops
into a folder per night. The report goes to the facility managers at six."""

import logging
import os
import sys
import time

import dask.dataframe as dd
import numpy as np
import pandas as pd
from distributed import Client

logging.basicConfig(
    level=logging.INFO, stream=sys.stdout, format="%(levelname)s %(message)s"
)
log = logging.getLogger("saunas")

DROP = "drop/2026-11-27"
TARIFF = {"day": 0.31, "night": 0.19}


class ReportFailed(RuntimeError):
    pass


def gateway_drop(folder, gateways=8, rows=4000):
    """What the gateway's rsync leaves behind at night."""
    os.makedirs(folder, exist_ok=True)
    rng = np.random.default_rng(7)
    for gateway in range(gateways):
        frame = pd.DataFrame(
            {
                "meter": rng.integers(0, 40, rows) + 100 * gateway,
                "at": pd.Timestamp("2026-11-27")
                + pd.to_timedelta(np.sort(rng.integers(0, 86400, rows)), unit="s"),
                "kwh": rng.gamma(2.0, 0.4, rows),
            }
        )
        path = f"{folder}/gw-{gateway:02d}.parquet"
        frame.to_parquet(path)
        if gateway == 5:
            size = os.path.getsize(path)
            with open(path, "r+b") as stream:  # the link went down at 03:12
                stream.truncate(size * 2 // 3)


def rate(hours):
    return np.where((hours >= 22) | (hours < 6), TARIFF["night"], TARIFF["day"])


def cost(frame):
    hours = frame["at"].dt.hour
    return frame.assign(hour=hours, cost=frame["kwh"] * rate(hours))


def read_gateway(path):
    return pd.read_parquet(path, columns=["meter", "at", "kwh"])


def hourly(paths):
    readings = dd.from_map(read_gateway, paths, meta=read_gateway(paths[0]).iloc[:0])
    priced = readings.map_partitions(cost)
    return priced.groupby(["meter", "hour"])[["kwh", "cost"]].sum()


def attempt(work, times=2, pause=0.5):
    """The object store behaves badly now and then, so everything is tried twice."""
    last = None
    for number in range(1, times + 1):
        try:
            return work()
        except Exception as error:
            last = error
            log.warning("attempt %d of %d: %s", number, times, type(error).__name__)
            time.sleep(pause)
    raise ReportFailed("no report tonight") from last


def main():
    gateway_drop(DROP)
    paths = sorted(
        os.path.join(DROP, name)
        for name in os.listdir(DROP)
        if name.endswith(".parquet")
    )
    client = Client(
        n_workers=2, threads_per_worker=2, memory_limit="500MB", dashboard_address=None
    )
    try:
        log.info("%d files on %s", len(paths), client.scheduler.address)
        table = attempt(lambda: hourly(paths).compute())
        table.to_csv("hourly.csv")
        log.info("%d lines written", len(table))
    finally:
        client.close()
        log.info("session closed")


if __name__ == "__main__":
    main()
