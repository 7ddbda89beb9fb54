"""Load the precinct returns into the results database."""

import os
import sqlite3
import tempfile

from dask.distributed import Client, LocalCluster


def prepare(path):
    with sqlite3.connect(path) as con:
        con.execute(
            "create table results (precinct_id text primary key, votes integer not null)"
        )


def load_county(path, county, rows):
    con = sqlite3.connect(path, timeout=20)
    try:
        with con:
            con.executemany(
                "insert into results (precinct_id, votes) values (?, ?)", rows
            )
    finally:
        con.close()
    return len(rows)


def main():
    counties = {
        c: [(f"{c}-{p:03d}", 100 + p) for p in range(50)]
        for c in ("adams", "boone", "clay", "dale", "erie")
    }
    counties["dale"].append(("clay-017", 131))
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "results.db")
        prepare(path)
        with LocalCluster(
            n_workers=2, threads_per_worker=1, dashboard_address=":0"
        ) as cluster:
            with Client(cluster) as client:
                done = []
                for county, rows in counties.items():
                    done.append(
                        client.submit(
                            load_county, path, county, rows, key=f"load_county-{county}"
                        ).result()
                    )
                print("loaded", sum(done))


if __name__ == "__main__":
    main()
