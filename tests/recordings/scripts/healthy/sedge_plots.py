"""Wetland survey: plant counts of 60 plots, one file each, of which some are empty.

A plot under water has a file with a header only.  The sums by species and the
list of the wettest plots are written as CSV.
"""

import os
import random
from pathlib import Path

import click
import dask
import dask.dataframe as dd
import pandas as pd
from dask.distributed import Client, LocalCluster

SPECIES = ["sedge", "rush", "reed", "iris", "mint"]
DTYPES = {"plot": "int64", "species": "str", "count": "float64", "depth_cm": "float64"}


def write_plots(folder, plots):
    folder.mkdir(parents=True, exist_ok=True)
    rng = random.Random(7)
    flooded = []
    for plot in range(plots):
        rows = ["plot,species,count,depth_cm"]
        if plot % 7 == 3:
            flooded.append(plot)
        else:
            for _ in range(rng.randint(40, 160)):
                rows.append(
                    f"{plot},{rng.choice(SPECIES)},{rng.randint(1, 30)},{rng.uniform(0, 40):.1f}"
                )
        (folder / f"plot{plot:03d}.csv").write_text("\n".join(rows) + "\n")
    return flooded


def add_class(part):
    """Wet, damp or dry; must hold for parts without rows too."""
    labels = ["dry", "damp", "wet"]
    classes = pd.cut(part["depth_cm"], [-1, 10, 25, 1000], labels=labels)
    return part.assign(wetness=classes.astype("str"))


def survey(folder):
    table = dd.read_csv(os.path.join(folder, "plot*.csv"), dtype=DTYPES)
    table = table.map_partitions(add_class)
    only_wet = table[table["wetness"] == "wet"]
    by_species = table.groupby("species")["count"].agg(["sum", "mean"])
    wet_plots = only_wet.groupby("plot")["depth_cm"].max()
    sizes = table.map_partitions(len, meta=("rows", "int64"))
    return by_species, wet_plots, sizes


@click.command()
@click.option("--plots", default=60, show_default=True)
@click.option("--top", default=5)
def main(plots, top):
    folder = Path("plots")
    flooded = write_plots(folder, plots)
    with (
        LocalCluster(
            n_workers=2, threads_per_worker=2, dashboard_address=None
        ) as cluster,
        Client(cluster),
    ):
        by_species, wet_plots, sizes = dask.compute(*survey(folder))
        by_species.round(2).to_csv("species.csv")
        wettest = wet_plots.nlargest(top)
        wettest.to_csv("wettest.csv")
        empty = int((sizes == 0).sum())
        click.echo(
            f"{len(sizes)} plots, {empty} without plants, {len(flooded)} reported as flooded"
        )
        if empty != len(flooded):
            raise click.ClickException("plots are missing")
        ordered = dd.from_pandas(wet_plots.reset_index(), npartitions=3).set_index(
            "depth_cm"
        )
        click.echo(
            f"deepest {ordered.index.max().compute():.1f} cm, {ordered.npartitions} parts"
        )


if __name__ == "__main__":
    main()
