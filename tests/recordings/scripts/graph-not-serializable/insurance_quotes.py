"""Recalculate the open insurance quotes from the tariff database."""

import os
import sqlite3
import tempfile

import dask
from dask.distributed import Client, LocalCluster


class Tariff:
    def __init__(self, path):
        self.con = sqlite3.connect(path)

    def base(self, age):
        return self.con.execute(
            "select rate from tariff where age = ?", (age,)
        ).fetchone()[0]


def quote(tariff, age):
    return age, tariff.base(age) * 1.19


def main():
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "tariff.db")
        with sqlite3.connect(path) as con:
            con.execute("create table tariff (age integer, rate real)")
            con.executemany(
                "insert into tariff values (?, ?)",
                [(a, 20 + a * 0.7) for a in range(18, 80)],
            )
        tariff = Tariff(path)
        with (
            LocalCluster(
                n_workers=2, threads_per_worker=1, dashboard_address=":0"
            ) as cluster,
            Client(cluster),
        ):
            quotes = [dask.delayed(quote)(tariff, a) for a in range(18, 80, 5)]
            print(dask.compute(*quotes))


if __name__ == "__main__":
    main()
