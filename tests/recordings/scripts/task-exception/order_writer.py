"""Load the day's orders into the reporting database."""

import os
import sqlite3
import tempfile

from dask.distributed import Client, LocalCluster


def prepare(path):
    con = sqlite3.connect(path)
    con.execute("create table orders (id int, region text, value real)")
    con.execute("create table load_log (day text, state text)")
    con.commit()
    con.execute("insert into load_log values ('2026-11-23', 'running')")
    return con


def load_region(path, region):
    con = sqlite3.connect(path, timeout=2.0)
    try:
        con.executemany(
            "insert into orders values (?, ?, ?)",
            [(i, region, i * 1.5) for i in range(500)],
        )
        con.commit()
        return con.total_changes
    finally:
        con.close()


def main():
    regions = ["emea", "apac", "latam", "nam"]
    with tempfile.TemporaryDirectory() as root:
        path = os.path.join(root, "report.db")
        control = prepare(path)
        with (
            LocalCluster(
                n_workers=2, threads_per_worker=1, dashboard_address=None
            ) as cluster,
            Client(cluster) as client,
        ):
            loads = [
                client.submit(load_region, path, region, retries=1)
                for region in regions
            ]
            counts = dict(zip(regions, client.gather(loads)))
            control.execute("update load_log set state = 'done'")
            control.commit()
            print(counts)


if __name__ == "__main__":
    main()
