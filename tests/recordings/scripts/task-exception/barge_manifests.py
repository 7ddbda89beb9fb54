"""Tonnage per commodity from the barge manifests of a lock, one Parquet file a month."""

import datetime as dt
import os

import click
import dask
import dask.dataframe as dd
import numpy as np
import pandas as pd
from distributed import Client, LocalCluster

COMMODITIES = ["gravel", "wheat", "scrap", "diesel", "containers"]


def export_month(folder, month):
    """The lock office's export of one month."""
    rng = np.random.default_rng(month)
    n = 3000
    start = dt.datetime(2026, month, 1)
    frame = pd.DataFrame(
        {
            "barge_id": rng.integers(1000, 9999, n),
            "passed": [start + dt.timedelta(minutes=12 * i) for i in range(n)],
            "commodity": rng.choice(COMMODITIES, n),
            "tonnes": rng.integers(200, 2400, n),
            "draught_cm": rng.integers(90, 300, n),
        }
    )
    if month == 9:
        # the office changed to its new system this month
        frame["tonnes"] = [f"{t} t" for t in frame["tonnes"]]
    frame.to_parquet(
        os.path.join(folder, f"manifest-2026-{month:02d}.parquet"), index=False
    )


def tonnage(manifests):
    return manifests.groupby("commodity")["tonnes"].sum()


def deep_draught(manifests, limit):
    deep = manifests[manifests["draught_cm"] > limit]
    return deep["barge_id"].nunique()


def quarter_of(manifests):
    return manifests.assign(quarter=manifests["passed"].dt.quarter)


@click.group()
@click.option("--folder", default="manifests")
@click.pass_context
def cli(ctx, folder):
    ctx.obj = folder


@cli.command()
@click.option("--limit", default=270, help="draught in cm that counts as deep")
@click.pass_obj
def report(folder, limit):
    """Tonnage of the year so far."""
    with (
        LocalCluster(
            n_workers=2,
            threads_per_worker=1,
            host="127.0.0.1",
            dashboard_address=None,
            memory_limit="400MB",
        ) as cluster,
        Client(cluster),
    ):
        draughts = dd.read_parquet(folder, columns=["barge_id", "draught_cm"])
        click.echo(f"deep barges: {deep_draught(draughts, limit).compute()}")

        manifests = dd.read_parquet(folder)
        by_commodity, by_quarter = dask.compute(
            tonnage(manifests), quarter_of(manifests).groupby("quarter")["tonnes"].sum()
        )
    click.echo(by_commodity.to_string())
    click.echo(by_quarter.to_string())


@cli.command()
@click.pass_obj
def export(folder):
    """Fetch the months from the lock office."""
    os.makedirs(folder, exist_ok=True)
    for month in range(4, 11):
        export_month(folder, month)
    click.echo(f"{len(os.listdir(folder))} months in {folder}")


if __name__ == "__main__":
    cli(["export"], standalone_mode=False)
    cli(["report"])
