"""Grain trade: deliveries at the silos against the forward contracts.

    python wheat_contracts.py --season 2026 --tolerance 2.5

Deliveries come as CSV per silo, contracts as parquet from the trading system
(moved to its new version last week).
"""

import pathlib
import time

import click
import dask.dataframe as dd
import numpy as np
import pandas as pd
from dask.distributed import Client, LocalCluster

SILOS = ["Ashford", "Brandon", "Corby", "Diss", "Ely", "Fakenham"]


def prepare(base):
    rng = np.random.default_rng(2026)
    (base / "deliveries").mkdir(parents=True, exist_ok=True)
    (base / "contracts").mkdir(exist_ok=True)
    for silo in SILOS:
        count = 900
        pd.DataFrame(
            {
                "contract_no": rng.integers(410_000, 410_400, count),
                "silo": silo,
                "tonnes": rng.normal(26, 3, count).round(2),
                "protein": rng.normal(12.1, 0.8, count).round(1),
            }
        ).to_csv(base / "deliveries" / f"{silo.lower()}.csv", index=False)
    numbers = np.arange(410_000, 410_400)
    for half, part in enumerate(np.array_split(numbers, 2)):
        pd.DataFrame(
            {
                "contract_no": [f"{number:08d}" for number in part],
                "buyer": rng.choice(
                    ["Mill & Sons", "Harbour Grain", "Oster AG"], len(part)
                ),
                "agreed_tonnes": rng.normal(330, 40, len(part)).round(0),
            }
        ).to_parquet(base / "contracts" / f"part_{half}.parquet")


class Reconciliation:
    def __init__(self, base, tolerance):
        self.base = base
        self.tolerance = tolerance

    def deliveries(self):
        frame = dd.read_csv(str(self.base / "deliveries" / "*.csv"), blocksize=None)
        return frame[frame["protein"] >= 9.0]

    def contracts(self):
        return dd.read_parquet(str(self.base / "contracts"))

    def quality(self, deliveries):
        table = (
            deliveries.groupby("silo")["protein"]
            .agg(["mean", "min", "count"])
            .compute()
        )
        for silo, row in table.iterrows():
            click.echo(
                f"{silo:<10} protein {row['mean']:.2f} (min {row['min']:.1f}), {int(row['count'])} loads"
            )
        return table

    def open_positions(self, deliveries, contracts):
        joined = deliveries.merge(contracts, on="contract_no", how="inner")
        summed = joined.groupby(["buyer", "contract_no"]).agg(
            {"tonnes": "sum", "agreed_tonnes": "first"}
        )
        summed["open"] = summed["agreed_tonnes"] - summed["tonnes"]
        late = summed[summed["open"] > self.tolerance * summed["agreed_tonnes"] / 100]
        return late.compute()


@click.command()
@click.option("--season", type=int, default=2026)
@click.option("--tolerance", type=float, default=2.5, help="in percent")
def cli(season, tolerance):
    started = time.monotonic()
    base = pathlib.Path(f"season_{season}")
    prepare(base)
    cluster = LocalCluster(
        n_workers=2, threads_per_worker=1, memory_limit="500MB", dashboard_address=None
    )
    client = Client(cluster)
    try:
        job = Reconciliation(base, tolerance)
        deliveries = job.deliveries()
        job.quality(deliveries)
        late = job.open_positions(deliveries, job.contracts())
        late.to_csv(base / "open_positions.csv")
        click.echo(f"{len(late)} contracts are open")
    finally:
        click.echo(f"closing after {time.monotonic() - started:.1f} s")
        client.close()
        cluster.close()


if __name__ == "__main__":
    cli()
