"""Writes the tables of meters into one SQLite file, from all workers at once."""

import os
import sqlite3
import tempfile
import time

from dask.distributed import Client, LocalCluster


def write(path, meter):
    database = sqlite3.connect(path, timeout=1)
    with database:
        database.execute("insert into readings values (?, ?)", (meter, meter * 3))
        time.sleep(1.5)  # thousands of rows
    database.close()
    return meter


if __name__ == "__main__":
    path = os.path.join(tempfile.mkdtemp(), "meters.sqlite")
    with sqlite3.connect(path) as database:
        database.execute("create table readings (meter integer, value integer)")
    with (
        LocalCluster(
            n_workers=2, threads_per_worker=2, dashboard_address=":0"
        ) as cluster,
        Client(cluster) as client,
    ):
        print(sum(client.gather(client.map(write, [path] * 12, range(12)))))
