"""Regroups the dockets of the cement silos by customer and invoices each group."""

import argparse
import logging
import sys

import dask
import dask.dataframe as dd
import numpy as np
import pandas as pd
from dask.distributed import Client, LocalCluster

log = logging.getLogger("cement_loads")

SILOS = [
    "amoeneburg",
    "beckum",
    "deuna",
    "geseke",
    "hoever",
    "lengfurt",
    "mergelstetten",
    "schelklingen",
]
RATE = {"CEM I": 118.0, "CEM II": 104.5, "CEM III": 97.0}


def docket_numbers(silo, rng, n):
    numbers = [f"{silo[:3].upper()}-{v}" for v in rng.integers(10_000, 99_999, n)]
    if silo == "lengfurt":
        # weighbridge replaced on the 18th, numbers restart there
        numbers[n * 2 // 3 :] = [int(v) for v in rng.integers(1, 9_999, n - n * 2 // 3)]
    return numbers


def silo_book(silo, n=6000):
    rng = np.random.default_rng(SILOS.index(silo))
    return pd.DataFrame(
        {
            "docket": pd.Series(docket_numbers(silo, rng, n), dtype="object"),
            "customer": rng.integers(100, 180, n),
            "kind": pd.Series(rng.choice(list(RATE), n), dtype="object"),
            "tons": rng.gamma(8, 3.1, n).round(2),
        }
    )


def read_books():
    meta = silo_book(SILOS[0], 2).iloc[:0]
    return dd.from_map(silo_book, SILOS, meta=meta)


def price(frame):
    return frame.assign(amount=frame.tons * frame.kind.map(RATE))


def invoice_part(frame):
    """Invoices of all customers whose dockets lie in this partition."""
    rows = []
    for customer, group in frame.groupby("customer"):
        first = group.docket.iloc[0]
        rows.append(
            (customer, len(group), float(group.amount.sum().round(2)), str(first))
        )
    return pd.DataFrame(rows, columns=["customer", "dockets", "amount", "first"])


def invoices(books):
    priced = books.map_partitions(price)
    grouped = priced.shuffle(on="customer", npartitions=6)
    meta = pd.DataFrame(
        {
            "customer": pd.Series(dtype="int64"),
            "dockets": pd.Series(dtype="int64"),
            "amount": pd.Series(dtype="float64"),
            "first": pd.Series(dtype="object"),
        }
    )
    return grouped.map_partitions(invoice_part, meta=meta)


def main():
    ap = argparse.ArgumentParser(description=__doc__)
    ap.add_argument("--month", default="2026-10")
    args = ap.parse_args()
    logging.basicConfig(
        level=logging.INFO, format="%(asctime)s %(levelname)s %(message)s"
    )
    # customers' systems want the docket as it was printed, so no conversion of the columns
    dask.config.set(
        {"dataframe.convert-string": False, "dataframe.shuffle.method": "p2p"}
    )

    with LocalCluster(
        n_workers=2, threads_per_worker=1, memory_limit="300MiB", dashboard_address=":0"
    ) as cluster:
        with Client(cluster):
            books = read_books()
            log.info(
                "%s: %.0f t in %d silos",
                args.month,
                books.tons.sum().compute(),
                books.npartitions,
            )
            table = invoices(books).compute()
            log.info("%d invoices, %.2f EUR", len(table), table.amount.sum())
            top = table.nlargest(5, "amount")
            for row in top.itertuples():
                log.info(
                    "customer %d: %.2f EUR, first docket %s",
                    row.customer,
                    row.amount,
                    row.first,
                )
    return 0


if __name__ == "__main__":
    sys.exit(main())
