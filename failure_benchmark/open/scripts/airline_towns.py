"""Counts the flights of towns, whose names have accents."""

import os
import tempfile

import dask.dataframe as dd
from dask.distributed import Client, LocalCluster

if __name__ == "__main__":
    folder = tempfile.mkdtemp(prefix="flights-")
    towns = {2000: ["Bern", "Graz"], 2001: ["Zürich", "Málaga"]}
    for year, names in towns.items():
        with open(os.path.join(folder, f"{year}.csv"), "wb") as file:
            file.write(b"flight,town\n")
            for flight in range(2000):
                file.write(f"{flight},{names[flight % 2]}\n".encode("latin-1"))
    with (
        LocalCluster(
            n_workers=2, threads_per_worker=1, dashboard_address=":0"
        ) as cluster,
        Client(cluster),
    ):
        flights = dd.read_csv(os.path.join(folder, "*.csv"))
        print(flights.town.value_counts().compute())
