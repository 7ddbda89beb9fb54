"""Books the payments of a day, and then closes the ledger."""

import os
import sqlite3
import tempfile

from dask.distributed import Client, LocalCluster, wait


def book(ledger, payment):
    con = sqlite3.connect(ledger, timeout=20)
    with con:
        con.execute("insert into booked values (?)", (payment,))
    con.close()
    return payment


def settle(ledger):
    mark = ledger + ".settling"
    if not os.path.exists(mark):
        open(mark, "w").close()
        os._exit(3)  # what the bank's native library does on its first call
    return "settled"


if __name__ == "__main__":
    ledger = os.path.join(tempfile.mkdtemp(), "ledger.db")
    with sqlite3.connect(ledger) as con:
        con.execute("create table booked (payment integer primary key)")
    with (
        LocalCluster(n_workers=2, threads_per_worker=1) as cluster,
        Client(cluster) as client,
    ):
        payments = client.map(book, [ledger] * 20, range(20), pure=False)
        wait(payments)
        print(client.submit(settle, ledger, pure=False).result(timeout=30))
        print(sum(client.gather(payments)))
