"""Weekly takings of the concert halls.

Each hall drops one Parquet file per evening into the week's folder. Finance wants
gross, fees and net per hall, and the ten best evenings.
"""

import contextlib
import datetime as dt
import pathlib
import shutil
import sys

import click
import dask.dataframe as dd
import numpy as np
import pandas as pd
from distributed import Client, LocalCluster

HALLS = ["Riverside", "Old Mint", "Assembly"]


def drop_files(folder, monday):
    """The halls' tills (three vendors, one layout)."""
    rng = np.random.default_rng(monday.toordinal())
    for day in range(7):
        date = monday + dt.timedelta(days=day)
        for hall in HALLS:
            n = 300
            frame = pd.DataFrame(
                {
                    "hall": hall,
                    "date": pd.Timestamp(date),
                    "seat": rng.integers(1, 900, n),
                    "price": np.round(rng.uniform(12, 95, n), 2),
                    "fee": np.round(rng.uniform(0.5, 4, n), 2),
                }
            )
            if hall == "Old Mint" and day == 4:
                frame["price"] = [f"{p:.2f}".replace(".", ",") for p in frame["price"]]
            name = hall.lower().replace(" ", "_")
            frame.to_parquet(folder / f"{date:%Y%m%d}_{name}.parquet", index=False)


@contextlib.contextmanager
def small_cluster(workers):
    cluster = LocalCluster(
        n_workers=workers,
        threads_per_worker=1,
        memory_limit="400MB",
        dashboard_address=None,
    )
    client = Client(cluster)
    try:
        yield client
    finally:
        client.close()
        cluster.close()


def net_of(frame):
    return frame.assign(net=frame["price"] - frame["fee"])


def weekly_report(files):
    tickets = dd.read_parquet(files)
    counts = tickets.groupby("hall")["seat"].count().compute()
    click.echo(f"{int(counts.sum())} tickets in {len(files)} files")

    meta = tickets._meta.assign(net=0.0)
    net = tickets.map_partitions(net_of, meta=meta)
    per_hall = net.groupby("hall")[["price", "fee", "net"]].sum()
    return per_hall.compute()


@click.command()
@click.option("--week", default="2026-11-23", help="Monday of the week")
@click.option("--workers", default=2)
@click.option("--keep/--no-keep", default=False)
def main(week, workers, keep):
    monday = dt.date.fromisoformat(week)
    folder = pathlib.Path("week_" + week)
    folder.mkdir(exist_ok=True)
    drop_files(folder, monday)
    try:
        with small_cluster(workers):
            report = weekly_report(sorted(str(p) for p in folder.glob("*.parquet")))
    except Exception as problem:
        click.echo(f"no report for week {week}: {type(problem).__name__}", err=True)
        sys.exit(4)
    finally:
        if not keep:
            shutil.rmtree(folder)
    report.to_csv("takings.csv")
    click.echo(report.to_string())


if __name__ == "__main__":
    main()
