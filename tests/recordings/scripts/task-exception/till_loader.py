import os
import sqlite3
import tempfile
import threading
import time

from dask import compute, delayed
from distributed import Client, LocalCluster


def create(path):
    con = sqlite3.connect(path)
    con.execute("create table sales(store int, day int, amount real)")
    con.commit()
    con.close()


def snapshot(path, started, seconds):
    con = sqlite3.connect(path, isolation_level=None)
    con.execute("begin exclusive")
    started.set()
    time.sleep(seconds)
    con.execute("rollback")
    con.close()


@delayed
def read_till(store):
    return [(store, d, 10.0 * store + d) for d in range(50)]


@delayed
def insert(rows, path):
    con = sqlite3.connect(path, timeout=2)
    with con:
        con.executemany("insert into sales values(?,?,?)", rows)
    con.close()
    return len(rows)


def main():
    path = os.path.join(tempfile.mkdtemp(), "tills.sqlite")
    create(path)
    started = threading.Event()
    threading.Thread(target=snapshot, args=(path, started, 30), daemon=True).start()
    started.wait()
    with (
        LocalCluster(
            n_workers=2,
            threads_per_worker=1,
            memory_limit="300MB",
            dashboard_address=None,
        ) as c,
        Client(c),
    ):
        print("inserted", sum(compute(*[insert(read_till(s), path) for s in range(8)])))


if __name__ == "__main__":
    main()
