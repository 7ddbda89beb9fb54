"""Stage sensor values into per-site stores and count the alarms."""

import random
import sqlite3

from dask.distributed import Client, LocalCluster

SITES = ["plant-a", "plant-b", "plant-c"]


def stage(site):
    rnd = random.Random(site)
    con = sqlite3.connect(":memory:", check_same_thread=False)
    con.execute("create table reading (sensor int, value real)")
    con.executemany(
        "insert into reading values (?, ?)",
        [(i % 50, rnd.gauss(50, 10)) for i in range(5000)],
    )
    con.commit()
    return con


def alarms(con, threshold):
    return con.execute(
        "select count(*) from reading where value > ?", (threshold,)
    ).fetchone()[0]


def local_alarm_report(client):
    """One site per worker, so staging and counting stay together."""
    stores = client.map(stage, SITES)
    return client.gather(client.map(alarms, stores, [70.0] * len(SITES)))


def export(client):
    store = client.submit(stage, "plant-a")
    rows = client.submit(alarms, store, 65.0)
    print("plant-a over 65:", rows.result())
    return store.result()


def main():
    with (
        LocalCluster(
            n_workers=1, threads_per_worker=2, dashboard_address=None
        ) as cluster,
        Client(cluster) as client,
    ):
        print(dict(zip(SITES, local_alarm_report(client))))
        con = export(client)
        con.backup(sqlite3.connect("plant-a.db"))


if __name__ == "__main__":
    main()
