"""Hands a helper object with an open connection to the tasks."""

import sqlite3
import tempfile

import dask
from dask.distributed import Client


class Audit:
    def __init__(self, path):
        self.db = sqlite3.connect(path)
        self.db.execute("create table if not exists audit (what text)")

    def note(self, what):
        self.db.execute("insert into audit values (?)", (what,))


def convert(number, audit):
    audit.note(f"converted {number}")
    return hex(number)


def main():
    client = Client(n_workers=2, threads_per_worker=1, dashboard_address=":0")
    print("ready:", client.submit(hex, 255).result())
    audit = Audit(tempfile.mkdtemp() + "/audit.db")
    print(dask.compute(*[dask.delayed(convert)(n, audit) for n in range(10)]))


if __name__ == "__main__":
    main()
