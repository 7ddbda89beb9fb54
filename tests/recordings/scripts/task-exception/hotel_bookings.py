"""Nights sold per hotel, all properties."""

import os
import tempfile

import dask.dataframe as dd
from dask.distributed import Client, LocalCluster

HOTELS = {
    "lisbon": "Avenida Palace",
    "porto": "Ribeira",
    "geneve": "Hôtel des Bergues",
    "bern": "Bellevue",
}


def export_property(folder, code, title):
    encoding = "cp1252" if code == "geneve" else "utf-8"
    with open(os.path.join(folder, f"book_{code}.csv"), "w", encoding=encoding) as fh:
        fh.write("hotel,guest,nights\n")
        for i in range(1500):
            fh.write(f"{title},guest{i},{i % 9 + 1}\n")


def main():
    with tempfile.TemporaryDirectory() as folder:
        for code, title in HOTELS.items():
            export_property(folder, code, title)
        with LocalCluster(
            n_workers=2, threads_per_worker=1, dashboard_address=None
        ) as cluster:
            with Client(cluster):
                files = [os.path.join(folder, f"book_{c}.csv") for c in HOTELS]
                bookings = dd.read_csv(files, dtype={"nights": "int64"})
                nights = bookings.groupby("hotel").nights.sum()
                print(nights.compute())


if __name__ == "__main__":
    main()
