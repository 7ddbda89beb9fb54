"""Look up the zone of each validated tram ticket in the operator's database."""

import os
import sqlite3
import tempfile

from dask.distributed import Client


class ZoneLookup:
    def __init__(self, path):
        self.path = path
        self.db = sqlite3.connect(path, check_same_thread=False)

    def create(self):
        self.db.execute("create table zones (stop integer primary key, zone text)")
        self.db.executemany(
            "insert into zones values (?, ?)",
            [(i, "ABCD"[i % 4]) for i in range(200)],
        )
        self.db.commit()

    def zone(self, stop):
        cur = self.db.execute("select zone from zones where stop = ?", (stop,))
        return cur.fetchone()[0]


def main():
    with tempfile.TemporaryDirectory() as tmp:
        lookup = ZoneLookup(os.path.join(tmp, "zones.db"))
        lookup.create()
        print("check:", lookup.zone(12))
        with Client(
            n_workers=2, threads_per_worker=1, dashboard_address=":0"
        ) as client:
            print("workers:", len(client.scheduler_info()["workers"]))
            futures = client.map(lookup.zone, range(200))
            zones = client.gather(futures)
            print({z: zones.count(z) for z in set(zones)})
        lookup.db.close()


if __name__ == "__main__":
    main()
