"""Weekly bulletin of the fishery office: landings by port, by gear and by month, then one page with all of them."""

import datetime
import json
import logging
import pathlib
import sys
import time

import dask
import dask.dataframe as dd
import numpy as np
import pandas as pd
from dask.distributed import Client, LocalCluster

dask.config.set({"dataframe.convert-string": False})
log = logging.getLogger("bulletin")
OUT = pathlib.Path("bulletin")


def write_logbooks(folder, weeks=6):
    folder.mkdir(exist_ok=True)
    rng = np.random.default_rng(5)
    for week in range(weeks):
        size = 3_000
        pd.DataFrame(
            {
                "landed": pd.Timestamp(2026, 1, 5)
                + pd.to_timedelta(rng.integers(0, 7, size) + 7 * week, unit="D"),
                "port": rng.choice(["Husum", "Busum", "Cuxhaven", "Greetsiel"], size),
                "gear": rng.choice(["beam trawl", "otter trawl", "pot"], size),
                "kilos": rng.gamma(3.0, 40.0, size),
            }
        ).to_csv(folder / f"week{week:02d}.csv", index=False)


def sea_temperature(station):
    """Reads a buoy; the bulletin prints a dash where it has none."""
    time.sleep(0.2)
    raw = {"Helgoland": "7.4", "Sylt": "6.9", "Borkum": "n/a"}[station]
    return float(raw)


class Bulletin:
    def __init__(self, client, landings):
        self.client = client
        self.landings = landings
        self.failures = {}

    def by_port(self):
        return self.landings.groupby("port").kilos.sum().compute()

    def by_gear(self):
        trawled = self.landings[self.landings["gear_code"].isin(["TBB", "OTB"])]
        return trawled.groupby("gear_code").kilos.sum().compute()

    def by_month(self):
        month = self.landings.landed.dt.month
        return self.landings.assign(month=month).groupby("month").kilos.mean().compute()

    def temperatures(self):
        stations = ["Helgoland", "Sylt", "Borkum"]
        futures = self.client.map(sea_temperature, stations)
        shown = {}
        for station, future in zip(stations, futures):
            try:
                shown[station] = future.result()
            except ValueError:
                log.info("buoy of %s reports nothing, printed as a dash", station)
                shown[station] = None
        return pd.Series(shown)

    def front_page(self):
        tables = {
            name: json.loads((OUT / f"{name}.json").read_text())
            for name in ("by_port", "by_gear", "by_month", "temperatures")
        }
        (OUT / "front_page.json").write_text(json.dumps(tables))
        return pd.Series({"tables": len(tables)})

    def make(self, name):
        started = time.perf_counter()
        try:
            table = getattr(self, name)()
            (OUT / f"{name}.json").write_text(table.to_json())
            log.info("%s is written after %.1f s", name, time.perf_counter() - started)
        except Exception as error:
            log.exception("%s could not be made", name)
            self.failures[name] = error


def main():
    logging.basicConfig(
        level=logging.INFO, format="%(asctime)s %(levelname)s %(message)s"
    )
    OUT.mkdir(exist_ok=True)
    write_logbooks(pathlib.Path("logbooks"))
    cluster = LocalCluster(
        n_workers=2, threads_per_worker=1, memory_limit="500MB", dashboard_address=":0"
    )
    client = Client(cluster)
    try:
        bulletin = Bulletin(
            client, dd.read_csv("logbooks/week*.csv", parse_dates=["landed"])
        )
        for name in ("temperatures", "by_port", "by_gear", "by_month", "front_page"):
            bulletin.make(name)
    finally:
        client.close()
        cluster.close()
    if bulletin.failures:
        sys.exit(
            f"bulletin of {datetime.date(2026, 2, 16)} failed: {len(bulletin.failures)} of 5 parts are missing"
        )


if __name__ == "__main__":
    main()
