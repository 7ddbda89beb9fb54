#!/usr/bin/env python
"""Tugboat hours: read the log books on the ETL cluster, print the invoices on the reporting cluster.

The two clusters are separate since the reporting machines have the licence of the renderer.
"""

import argparse
import logging
import time
from contextlib import ExitStack

import dask.dataframe as dd
import numpy as np
import pandas as pd
from dask.distributed import Client, LocalCluster, wait

log = logging.getLogger("tugboat_hours")

TUGS = ["Ajax", "Boreas", "Castor", "Dorado", "Egbert", "Fortuna"]
RATES = {"berthing": 410.0, "escort": 655.0, "towage": 520.0, "standby": 180.0}


def read_logbook(day):
    """Log book of one day: one row per job."""
    rng = np.random.default_rng(day)
    n = 400
    time.sleep(0.15)
    return pd.DataFrame(
        {
            "tug": rng.choice(TUGS, n),
            "work": rng.choice(sorted(RATES), n),
            "customer": rng.integers(100, 140, n),
            "minutes": rng.integers(15, 240, n),
        }
    )


def price(part):
    part = part.copy()
    part["amount"] = part["minutes"] / 60 * part["work"].map(RATES).astype("float64")
    return part


def render_invoice(customer, amount):
    """Text of one invoice; the renderer takes a moment."""
    time.sleep(0.05)
    return f"customer {customer}: {amount:,.2f} EUR"


def start(stack, name, workers):
    cluster = stack.enter_context(
        LocalCluster(
            n_workers=workers,
            threads_per_worker=1,
            name=name,
            memory_limit="280MB",
            dashboard_address=":0",
        )
    )
    client = stack.enter_context(Client(cluster, name=name))
    client.wait_for_workers(workers, timeout=60)
    log.info("cluster %s at %s", name, client.scheduler.address)
    return client


def load_hours(etl, days):
    """All jobs of the month, priced, in the memory of the ETL cluster."""
    hours = dd.from_map(read_logbook, range(days))
    hours = etl.persist(hours.map_partitions(price))
    wait(hours, timeout=120)
    log.info("%d partitions of log books in memory", hours.npartitions)
    return hours


def check_tugs(hours):
    per_tug = hours.groupby("tug")["minutes"].sum().compute()
    log.info("busiest tug: %s (%.0f hours)", per_tug.idxmax(), per_tug.max() / 60)


def print_invoices(reporting, hours):
    per_customer = hours.groupby("customer")["amount"].sum().compute()
    futures = reporting.map(
        render_invoice, list(per_customer.index), list(per_customer)
    )
    return reporting.gather(futures)


def parse_args():
    p = argparse.ArgumentParser(description=__doc__)
    p.add_argument("--days", type=int, default=30)
    return p.parse_args()


def main():
    args = parse_args()
    logging.basicConfig(
        level=logging.INFO, format="%(asctime)s %(name)s %(levelname)s %(message)s"
    )
    with ExitStack() as stack:
        etl = start(stack, "etl", 1)
        hours = load_hours(etl, args.days)
        check_tugs(hours)
        reporting = start(stack, "reporting", 1)
        warm = reporting.map(render_invoice, range(3), [0.0] * 3)
        wait(warm, timeout=60)
        log.info("renderer is warm")
        invoices = print_invoices(reporting, hours)
        for line in invoices[:5]:
            log.info("%s", line)
        log.info("%d invoices printed", len(invoices))
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
