"""Poll the shop's stock table until the evening delivery shows up."""

import os
import sqlite3
import tempfile
import time

from dask.distributed import Client, LocalCluster


def create(path):
    con = sqlite3.connect(path)
    con.execute("create table stock (sku text, pieces int)")
    con.executemany(
        "insert into stock values (?, ?)", [(f"s{i}", 10) for i in range(100)]
    )
    con.commit()
    con.close()


def deliver(path):
    con = sqlite3.connect(path)
    con.execute("update stock set pieces = pieces + 40")
    con.commit()
    con.close()


def total_pieces(path):
    con = sqlite3.connect(path)
    try:
        return con.execute("select sum(pieces) from stock").fetchone()[0]
    finally:
        con.close()


def main():
    with tempfile.TemporaryDirectory() as root:
        path = os.path.join(root, "shop.db")
        create(path)
        with (
            LocalCluster(
                n_workers=1, threads_per_worker=1, dashboard_address=None
            ) as cluster,
            Client(cluster) as client,
        ):
            opening = client.submit(total_pieces, path)
            before = opening.result()
            deliver(path)
            for _ in range(12):
                now = client.submit(total_pieces, path).result()
                if now > before:
                    break
                time.sleep(0.5)
            else:
                raise RuntimeError(
                    f"evening delivery missing: stock still {now} pieces"
                )
            print("delivered", now - before)


if __name__ == "__main__":
    main()
