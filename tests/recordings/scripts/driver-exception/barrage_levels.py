"""Water levels at the tidal barrages: daily means for the operators' board.

1. tidy the loggers' files and store them as one Parquet data set
2. flag spikes
3. daily means and exceedances from the data set
"""

import dataclasses
import logging
import pathlib
import shutil
import tempfile

import dask.dataframe as dd
import numpy as np
import pandas as pd
from distributed import Client, LocalCluster

log = logging.getLogger("barrage")


@dataclasses.dataclass
class Settings:
    stations: tuple = ("north", "middle", "south")
    days: int = 9
    threshold_m: float = 4.2
    workers: int = 2


class Pipeline:
    def __init__(self, settings, folder):
        self.settings = settings
        self.folder = pathlib.Path(folder)
        self.store = self.folder / "levels"

    # step 1
    def ingest(self):
        rng = np.random.default_rng(5)
        raw = self.folder / "raw"
        raw.mkdir()
        for station in self.settings.stations:
            stamps = pd.date_range(
                "2026-10-01", periods=self.settings.days * 144, freq="10min"
            )
            hours = np.arange(len(stamps)) / 6
            level = (
                3
                + 1.6 * np.sin(2 * np.pi * hours / 12.42)
                + rng.normal(0, 0.05, len(stamps))
            )
            frame = pd.DataFrame(
                {"stamp": stamps, "station": station, "level_m": level}
            )
            frame.to_csv(raw / f"{station}.csv", index=False)
        levels = dd.read_csv(str(raw / "*.csv"), parse_dates=["stamp"])
        levels = levels.set_index("stamp", sort=True)
        levels.to_parquet(str(self.store))
        log.info("stored %d rows", len(levels))

    # step 2
    def flag_spikes(self):
        levels = dd.read_parquet(str(self.store))
        spikes = levels[levels["level_m"] > 4.55]
        try:
            station = spikes["station"].value_counts().compute().idxmax()
            log.info("most spikes at %s", station)
        except ValueError:
            log.info("no spikes")

    # step 3
    def daily_means(self):
        levels = dd.read_parquet(str(self.store))
        daily = levels["level_m"].resample("1D").mean()
        return daily.compute()

    def exceedances(self):
        levels = dd.read_parquet(str(self.store))
        over = levels[levels["level_m"] > self.settings.threshold_m]
        return over.groupby("station")["level_m"].count().compute()


def run(settings):
    folder = tempfile.mkdtemp(prefix="barrage-")
    cluster = LocalCluster(
        n_workers=settings.workers,
        threads_per_worker=1,
        memory_limit="400MB",
        dashboard_address=None,
    )
    client = Client(cluster)
    try:
        pipeline = Pipeline(settings, folder)
        pipeline.ingest()
        pipeline.flag_spikes()
        counts = pipeline.exceedances()
        board = pipeline.daily_means()
        print(board.round(2).to_string())
        print(counts.to_string())
    finally:
        client.close()
        cluster.close()
        shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    logging.basicConfig(level=logging.INFO, format="%(name)s: %(message)s")
    run(Settings())
