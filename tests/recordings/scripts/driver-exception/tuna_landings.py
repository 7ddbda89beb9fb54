"""Tuna landings: joins the landing declarations of the day with the vessel register and gives tonnes per flag.

The register is now taken from the new licensing system (CSV), the declarations still from the auction halls.
"""

import dataclasses
import logging
import pathlib

import dask
import dask.dataframe as dd
import numpy as np
import pandas as pd
from dask.distributed import Client, LocalCluster

logger = logging.getLogger(__name__)


@dataclasses.dataclass
class Settings:
    day: str = "2026-11-27"
    halls: tuple = ("vigo", "concarneau", "sete", "cartagena")
    workers: int = 2
    root: pathlib.Path = pathlib.Path("landings")


def write_declarations(settings):
    rng = np.random.default_rng(27)
    for hall in settings.halls:
        frame = pd.DataFrame(
            {
                "licence": rng.integers(10_000, 10_400, 1500),
                "species": rng.choice(
                    ["albacore", "bluefin", "bigeye", "skipjack"], 1500
                ),
                "kg": rng.gamma(3.0, 80.0, 1500).round(1),
            }
        )
        frame.to_csv(settings.root / f"{hall}-{settings.day}.csv", index=False)


def write_register(settings):
    rng = np.random.default_rng(4)
    flags = rng.choice(["ES", "FR", "IT", "PT"], 400)
    with open(settings.root / "register.csv", "w") as stream:
        stream.write("licence,name,flag\n")
        for number, flag in enumerate(flags):
            stream.write(f"{flag}-{10_000 + number},Vessel {number},{flag}\n")


class Landings:
    def __init__(self, settings):
        self.settings = settings

    def declarations(self):
        return dd.read_csv(
            str(self.settings.root / f"*-{self.settings.day}.csv"),
            dtype={"licence": "int64", "species": "str", "kg": "float64"},
        )

    def register(self):
        return dd.read_csv(str(self.settings.root / "register.csv"))

    def volume(self):
        """Kilograms per species, which the market wants first."""
        return self.declarations().groupby("species")["kg"].sum().compute()

    def by_flag(self):
        joined = self.declarations().merge(self.register(), on="licence", how="left")
        return joined.groupby(["flag", "species"])["kg"].sum()


def publish(table, path):
    table.to_frame("kg").reset_index().to_csv(path, index=False)
    logger.info("published %s", path)


def main():
    logging.basicConfig(level=logging.INFO)
    settings = Settings()
    settings.root.mkdir(exist_ok=True)
    write_declarations(settings)
    write_register(settings)

    landings = Landings(settings)
    with dask.config.set({"dataframe.shuffle.method": "tasks"}):
        with LocalCluster(
            n_workers=settings.workers, threads_per_worker=1, dashboard_address=None
        ) as cluster:
            with Client(cluster):
                volume = landings.volume()
                logger.info("volume: %s", volume.round().to_dict())
                publish(volume, settings.root / "market.csv")
                publish(landings.by_flag().compute(), settings.root / "flags.csv")


if __name__ == "__main__":
    main()
