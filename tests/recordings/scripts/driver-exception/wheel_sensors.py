"""Joins the wheel sensors' daily mileage of a bicycle hire company with the fleet register.

Mileage comes from the telemetry store (parquet), the register is the fleet system's export. The result drives the
workshop's list of bikes that are due for service.
"""

import logging
import tempfile
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd

import dask.dataframe as dd
from distributed import Client

logging.basicConfig(level=logging.INFO, format="%(levelname)-7s %(name)s: %(message)s")
log = logging.getLogger("workshop")


@dataclass
class Settings:
    store: Path
    bikes: int = 3000
    days: int = 5
    service_km: float = 40.0


class Source:
    def __init__(self, settings: Settings):
        self.settings = settings

    def prepare(self):
        """Stands in for the telemetry store and the register's export of tonight."""
        rng = np.random.default_rng(3)
        mileage = self.settings.store / "mileage"
        mileage.mkdir(parents=True)
        ids = np.arange(10_000, 10_000 + self.settings.bikes)
        for day in range(self.settings.days):
            pd.DataFrame(
                {"bike_id": ids, "km": rng.gamma(2.0, 4.0, len(ids)), "day": day}
            ).to_parquet(mileage / f"day-{day}.parquet")
        register = pd.DataFrame(
            {
                "bike_id": [f"{i:06d}" for i in ids],  # fleet system 4.0
                "model": rng.choice(["city", "cargo", "tandem"], len(ids)),
                "station": rng.integers(1, 60, len(ids)),
            }
        )
        register.to_parquet(self.settings.store / "register.parquet")

    def mileage(self):
        return dd.read_parquet(self.settings.store / "mileage")

    def register(self):
        return dd.read_parquet(self.settings.store / "register.parquet")


class DueList:
    def __init__(self, source: Source, settings: Settings):
        self.source = source
        self.settings = settings

    def totals(self):
        totals = self.source.mileage().groupby("bike_id")["km"].sum().reset_index()
        return totals.persist()

    def report_stations(self):
        counts = self.source.register().groupby("station")["model"].count().compute()
        log.info("register: %d bikes at %d stations", counts.sum(), len(counts))

    def due(self, totals):
        bikes = self.source.register()
        merged = totals.merge(bikes, on="bike_id", how="inner")
        return merged[merged["km"] > self.settings.service_km]


def main():
    with tempfile.TemporaryDirectory(prefix="workshop-") as folder:
        settings = Settings(Path(folder))
        source = Source(settings)
        source.prepare()
        with Client(
            n_workers=2,
            threads_per_worker=1,
            memory_limit="400MB",
            dashboard_address=None,
        ) as client:
            log.info("connected to %s", client.scheduler.address)
            job = DueList(source, settings)
            job.report_stations()
            totals = job.totals()
            log.info("mileage of %d bikes", len(totals))
            due = job.due(totals)
            per_model = due.groupby("model")["km"].agg(["count", "max"]).compute()
            print(per_model.to_string())


if __name__ == "__main__":
    main()
