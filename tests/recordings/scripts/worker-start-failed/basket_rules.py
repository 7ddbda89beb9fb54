import os
import sqlite3
import tempfile
from itertools import combinations

import dask.bag as db
from distributed import Client, LocalCluster, WorkerPlugin


class RuleStore(WorkerPlugin):
    def __init__(self, path):
        self.path = path

    def setup(self, worker):
        con = sqlite3.connect(self.path)
        worker.min_support = con.execute(
            "select value from params where key='min_support'"
        ).fetchone()[0]
        con.close()

    def teardown(self, worker):
        worker.min_support = None


def baskets(n):
    return [[f"p{(i * k) % 7}" for k in range(1, 4)] for i in range(n)]


def make_store(folder):
    path = os.path.join(folder, "rules.db")
    con = sqlite3.connect(path)
    con.execute("create table parameters(key text, value real)")
    con.execute("insert into parameters values('min_support', 0.02)")
    con.commit()
    con.close()
    return path


def main():
    folder = tempfile.mkdtemp()
    store = make_store(folder)
    with (
        LocalCluster(
            n_workers=2,
            threads_per_worker=1,
            memory_limit="400MB",
            dashboard_address=None,
        ) as cluster,
        Client(cluster) as client,
    ):
        client.register_plugin(RuleStore(store), name="rules")
        bag = db.from_sequence(baskets(500), npartitions=4)
        pairs = bag.map(lambda b: list(combinations(sorted(set(b)), 2))).flatten()
        print(pairs.frequencies().topk(5, key=1).compute())


if __name__ == "__main__":
    main()
