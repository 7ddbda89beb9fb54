"""Look up the mustard claims in the register, four slices at a time."""

import os
import sqlite3
import tempfile

from distributed import Client, LocalCluster


def claims_between(register, low, high):
    rows = register.execute(
        "SELECT SUM(amount) FROM claims WHERE id BETWEEN ? AND ?", (low, high)
    )
    return rows.fetchone()[0]


def main():
    with tempfile.TemporaryDirectory() as tmp:
        register = sqlite3.connect(os.path.join(tmp, "claims.sqlite"))
        register.execute("CREATE TABLE claims (id INTEGER, amount REAL)")
        register.executemany(
            "INSERT INTO claims VALUES (?, ?)", [(n, n * 1.5) for n in range(1000)]
        )
        register.commit()
        with (
            LocalCluster(
                n_workers=2,
                threads_per_worker=1,
                dashboard_address=None,
                local_directory=tmp,
            ) as cluster,
            Client(cluster) as client,
        ):
            print("one slice here:", claims_between(register, 0, 9))
            slices = [
                client.submit(claims_between, register, low, low + 249)
                for low in range(0, 1000, 250)
            ]
            print("total", sum(client.gather(slices)))


if __name__ == "__main__":
    main()
