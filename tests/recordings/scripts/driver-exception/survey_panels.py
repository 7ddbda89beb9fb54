"""Weights for a household survey: answers joined with the panel's strata, then calibrated.

survey_panels.py run --wave 14
"""

import tempfile
from pathlib import Path

import click
import numpy as np
import pandas as pd

import dask
import dask.dataframe as dd
from distributed import Client, LocalCluster, wait


class Wave:
    """One wave of the survey on disk."""

    def __init__(self, folder: Path, number: int, households: int = 30_000):
        self.folder = folder
        self.number = number
        self.households = households

    def download(self):
        """Stands in for the field agency's delivery."""
        rng = np.random.default_rng(self.number)
        ids = np.arange(self.households)
        for part, chunk in enumerate(np.array_split(ids, 6)):
            pd.DataFrame(
                {
                    "household": chunk,
                    "income": rng.lognormal(10.2, 0.6, len(chunk)),
                    "persons": rng.integers(1, 7, len(chunk)),
                }
            ).to_parquet(self.folder / f"answers-{part}.parquet")
        strata = pd.DataFrame(
            {"household": ids, "stratum": rng.integers(1, 25, len(ids))}
        )
        moved = strata.sample(frac=0.02, random_state=self.number).assign(stratum=99)
        pd.concat([strata, moved]).to_csv(self.folder / "strata.csv", index=False)

    @property
    def answers(self):
        return dd.read_parquet(str(self.folder / "answers-*.parquet"))

    @property
    def strata(self):
        return dd.read_csv(self.folder / "strata.csv", blocksize="64KiB")


class Weighting:
    def __init__(self, wave: Wave):
        self.wave = wave

    def joined(self):
        return self.wave.answers.merge(
            self.wave.strata, on="household", how="left"
        ).persist()

    def check_households(self, joined):
        before, after, empty = dask.compute(
            self.wave.answers.shape[0], joined.shape[0], joined["stratum"].isna().sum()
        )
        click.echo(f"answers {before}, joined {after}, without stratum {empty}")
        assert empty == 0, f"{empty} households without a stratum"
        assert after == before, (
            f"join changed the number of households: {before} before, {after} after"
        )

    def weights(self, joined):
        sizes = joined.groupby("stratum")["persons"].sum().compute()
        return sizes.sum() / (len(sizes) * sizes)


@click.group()
def cli():
    pass


@cli.command()
@click.option("--wave", type=int, default=14)
@click.option("--workers", type=int, default=2)
def run(wave, workers):
    with tempfile.TemporaryDirectory(prefix="panel-") as name:
        data = Wave(Path(name), wave)
        data.download()
        with (
            LocalCluster(
                n_workers=workers,
                threads_per_worker=1,
                memory_limit="400MB",
                dashboard_address=None,
            ) as cluster,
            Client(cluster),
        ):
            weighting = Weighting(data)
            joined = weighting.joined()
            wait(joined)
            try:
                weighting.check_households(joined)
                weights = weighting.weights(joined)
            finally:
                del joined
            weights.to_csv(f"weights-{wave}.csv")
            click.echo(f"{len(weights)} strata weighted")


if __name__ == "__main__":
    cli()
