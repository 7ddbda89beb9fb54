"""Waiting times of outpatient clinics, by hour and clinic, for the monthly report."""

import configparser
import functools
import io
import pathlib
import time

import dask.dataframe as dd
import numpy as np
import pandas as pd
from distributed import Client, LocalCluster

CONFIG = """
[input]
folder = visits
clinics = eye, skin, bone
[report]
first = 2026-10-05
last = 2026-10-09
[cluster]
workers = 2
memory = 300MB
"""


def retry(times):
    def deco(func):
        @functools.wraps(func)
        def inner(*args, **kwargs):
            for attempt in range(times):
                try:
                    return func(*args, **kwargs)
                except ConnectionError as exc:
                    print(f"attempt {attempt + 1}: {exc}")
                    time.sleep(0.3)
            return func(*args, **kwargs)

        return inner

    return deco


def write_visits(folder, clinics):
    folder.mkdir(exist_ok=True)
    for c, clinic in enumerate(clinics):
        rng = np.random.default_rng(c)
        arrival = pd.date_range("2026-10-01 07:00", periods=4000, freq="5min")
        wait = rng.gamma(2.0, 11.0, 4000).round(1)
        pd.DataFrame({"arrival": arrival, "clinic": clinic, "wait_min": wait}).to_csv(
            folder / f"{clinic}.csv", index=False
        )


def roster(clinic, marker):
    """Staff on duty, from a service that is slow to wake up."""
    path = pathlib.Path(marker)
    if not path.exists():
        path.write_text("asked")
        raise ConnectionError(f"roster service refused {clinic}")
    return clinic, len(clinic) + 3


@retry(3)
def staff(client, clinics, marker):
    futures = client.map(roster, clinics, marker=marker, pure=False)
    return dict(client.gather(futures))


def load(folder):
    visits = dd.read_csv(
        str(folder / "*.csv"), parse_dates=["arrival"], blocksize=60_000
    )
    visits = visits.assign(hour=visits["arrival"].dt.hour)
    return visits.map_partitions(lambda part: part.set_index("arrival"))


def hourly(visits, first, last):
    week = visits.loc[first:last]
    return week.groupby([week["clinic"], week["hour"]])["wait_min"].mean()


def by_day(visits, first, last):
    days = list(pd.date_range(first, last, freq="D"))
    return visits.repartition(divisions=days, force=True)["wait_min"].map_partitions(
        pd.Series.quantile, 0.9
    )


def main():
    cfg = configparser.ConfigParser()
    cfg.read_file(io.StringIO(CONFIG))
    folder = pathlib.Path(cfg["input"]["folder"]).absolute()
    clinics = [c.strip() for c in cfg["input"]["clinics"].split(",")]
    write_visits(folder, clinics)
    first, last = cfg["report"]["first"], cfg["report"]["last"]

    cluster = LocalCluster(
        n_workers=cfg.getint("cluster", "workers"),
        threads_per_worker=1,
        host="127.0.0.1",
        dashboard_address=None,
        memory_limit=cfg["cluster"]["memory"],
    )
    with cluster, Client(cluster) as client:
        print(staff(client, clinics, str(folder / "roster.asked")))
        visits = load(folder)
        print("visits", len(visits))
        print("mean wait", round(visits["wait_min"].mean().compute(), 1))
        print(by_day(visits, first, last).compute())
        print(hourly(visits, first, last).compute())


if __name__ == "__main__":
    main()
