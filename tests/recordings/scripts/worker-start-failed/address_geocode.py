import os
import sqlite3
import tempfile

from dask.distributed import Client, LocalCluster, WorkerPlugin, get_worker

STREETS = ["Linden Allee", "Ring", "Kirchweg", "Am Markt", "Hafenstr"]


class GeocoderPlugin(WorkerPlugin):
    name = "geocoder"

    def __init__(self, path):
        self.path = path

    def setup(self, worker):
        con = sqlite3.connect(
            f"file:{self.path}?mode=ro", uri=True, check_same_thread=False
        )
        worker.streets = dict(con.execute("select street, lat from streets"))
        con.close()


def build_index(folder):
    path = os.path.join(folder, "streets.sqlite")
    con = sqlite3.connect(path)
    con.execute("create table streets (street text primary key, lat real)")
    con.executemany(
        "insert into streets values (?, ?)",
        [(s, 52 + i / 10) for i, s in enumerate(STREETS)],
    )
    con.commit()
    con.close()
    return path


def locate(address):
    return get_worker().streets[address.rsplit(" ", 1)[0]]


def main():
    with tempfile.TemporaryDirectory(prefix="geo-") as folder:
        path = build_index(folder)
        cluster = LocalCluster(
            n_workers=2, threads_per_worker=1, dashboard_address=None
        )
        client = Client(cluster)
        try:
            print("index ready", os.path.getsize(path), "bytes")
            client.register_plugin(GeocoderPlugin(path.replace(".sqlite", ".db")))
            addresses = [f"{s} {n}" for s in STREETS for n in range(1, 40)]
            lats = client.gather(client.map(locate, addresses))
            print("mean latitude", sum(lats) / len(lats))
        finally:
            client.close()
            cluster.close()


if __name__ == "__main__":
    main()
