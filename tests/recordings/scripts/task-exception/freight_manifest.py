import logging
import os
import shutil
import sqlite3
import tempfile

import pandas as pd
from dask.distributed import Client, LocalCluster

log = logging.getLogger("freight")
DEPOTS = ["antwerp", "bremen", "felixstowe", "gdansk", "rotterdam", "trieste"]


class ManifestError(Exception):
    pass


def build_depot(folder, depot):
    con = sqlite3.connect(os.path.join(folder, f"{depot}.db"))
    table = "legs_archive" if depot == "rotterdam" else "legs"
    con.execute(f"create table {table} (container text, teu integer, hours real)")
    rows = [(f"{depot[:3].upper()}U{i:06d}", 1 + i % 2, 4 + i % 30) for i in range(800)]
    con.executemany(f"insert into {table} values (?,?,?)", rows)
    con.commit()
    con.close()


def read_legs(folder, depot):
    con = sqlite3.connect(os.path.join(folder, f"{depot}.db"))
    try:
        rows = con.execute("select container, teu, hours from legs").fetchall()
        return pd.DataFrame(rows, columns=["container", "teu", "hours"]).assign(
            depot=depot
        )
    finally:
        con.close()


def summarise(legs):
    return (
        legs.groupby("depot")
        .agg(teu=("teu", "sum"), hours=("hours", "mean"))
        .reset_index()
    )


def consolidate(client, folder):
    legs = [client.submit(read_legs, folder, depot) for depot in DEPOTS]
    parts = client.map(summarise, legs)
    table = pd.concat(client.gather(parts))
    table.to_csv(os.path.join(folder, "manifest.csv"), index=False)
    return table


def archive(folder):
    target = os.path.join(folder, "archive")
    os.makedirs(target, exist_ok=True)
    return shutil.move(os.path.join(folder, "manifest.csv"), target)


def run(client, folder):
    try:
        table = consolidate(client, folder)
        log.info("manifest with %d depots", len(table))
    except Exception as exc:
        raise ManifestError("manifest run aborted") from exc
    finally:
        archive(folder)


def main():
    logging.basicConfig(level=logging.INFO, format="%(levelname)s %(name)s %(message)s")
    logging.getLogger("distributed").setLevel(logging.WARNING)
    with tempfile.TemporaryDirectory(prefix="freight-") as folder:
        for depot in DEPOTS:
            build_depot(folder, depot)
        with LocalCluster(
            n_workers=2, threads_per_worker=1, dashboard_address=None
        ) as cluster:
            with Client(cluster) as client:
                run(client, folder)


if __name__ == "__main__":
    main()
