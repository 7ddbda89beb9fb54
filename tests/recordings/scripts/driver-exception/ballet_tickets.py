"""Ticket sales of the ballet season, settings from the site's job file."""

import os
import tempfile

import dask
import yaml
from dask.distributed import Client, LocalCluster

SETTINGS = """
cluster:
  n_workers: 2
  threads_per_worker: 1
  memory_limit: 1.5 gigs
seasons: [2023, 2024, 2025]
"""


def sales(season):
    return season, sum(range(season))


def main():
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "ballet.yaml")
        with open(path, "w") as f:
            f.write(SETTINGS)
        with open(path) as f:
            settings = yaml.safe_load(f)
        with (
            LocalCluster(dashboard_address=":0", **settings["cluster"]) as cluster,
            Client(cluster),
        ):
            print(dask.compute(*[dask.delayed(sales)(s) for s in settings["seasons"]]))


if __name__ == "__main__":
    main()
