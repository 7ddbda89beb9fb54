"""Quarterly rents of a housing association: index the rents, then prepare the registers for the auditors.

The indexing step needs more memory in some quarters, so it is tried with a small cluster first and repeated with a
larger one.  The registers are made afterwards by a third cluster.
"""

import logging
import sqlite3
import sys
import tempfile
import time
from dataclasses import dataclass, field

import dask
import numpy as np
from dask.distributed import Client, KilledWorker, LocalCluster

dask.config.set({"distributed.scheduler.allowed-failures": 0})
log = logging.getLogger("rents")
ESTATES = ["Alder Court", "Birch Row", "Cherry Close", "Damson Walk"]


@dataclass
class Register:
    estate: str
    rents: int
    total: float
    handle: object = field(default=None, repr=False)


def index_rents(estate, quarter):
    """Rent per flat after indexing; the scenarios of a quarter are held together for the percentiles."""
    scenarios = []
    for scenario in range(30):
        rng = np.random.default_rng(scenario)
        scenarios.append(rng.normal(0.02, 0.004, 1_000_000))
        time.sleep(0.04)
    rates = [float(np.percentile(s[:5000], 50)) for s in scenarios]
    return [
        (f"{estate} {flat}", quarter, 500 + flat * (1 + rates[flat % 30]))
        for flat in range(80)
    ]


def open_register(folder, estate, rows):
    connection = sqlite3.connect(
        f"{folder}/{estate.replace(' ', '_')}.db", check_same_thread=False
    )
    connection.execute("create table rent (flat text, quarter text, amount real)")
    connection.executemany("insert into rent values (?, ?, ?)", rows)
    connection.commit()
    count, total = connection.execute(
        "select count(*), sum(amount) from rent"
    ).fetchone()
    return Register(estate, count, total, handle=connection)


def small():
    return LocalCluster(
        n_workers=1, threads_per_worker=1, memory_limit="280MB", dashboard_address=None
    )


def large():
    return LocalCluster(
        n_workers=1, threads_per_worker=1, memory_limit="900MB", dashboard_address=None
    )


def indexing(quarter):
    for make in (small, large):
        with make() as cluster, Client(cluster) as client:
            futures = [
                client.submit(
                    index_rents, e, quarter, key=f"index-rents-{e}", retries=0
                )
                for e in ESTATES
            ]
            try:
                return client.gather(futures)
            except KilledWorker:
                log.warning(
                    "indexing did not go through with %s cluster", make.__name__
                )
    raise RuntimeError("indexing failed with both clusters")


def registers(folder, tables):
    with LocalCluster(
        n_workers=2, threads_per_worker=1, memory_limit="400MB", dashboard_address=None
    ) as cluster:
        with Client(cluster) as client:
            futures = [
                client.submit(
                    open_register, folder, estate, rows, key=f"open-register-{estate}"
                )
                for estate, rows in zip(ESTATES, tables)
            ]
            return client.gather(futures)


def main(quarter="2026-Q4"):
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(name)s %(message)s")
    with tempfile.TemporaryDirectory(prefix="rents-") as folder:
        tables = indexing(quarter)
        log.info("%s estates indexed", len(tables))
        for register in registers(folder, tables):
            print(register)
    return 0


if __name__ == "__main__":
    sys.exit(main())
