"""Render the invoices of the night as text pages, one file per batch."""

import argparse
import os

import dask.bag as db
from dask import compute, delayed
from dask.distributed import Client, LocalCluster

from invoices import invoice, page, total


def write_batch(pages, folder, index):
    path = os.path.join(folder, f"batch-{index:03d}.txt")
    with open(path, "w") as f:
        f.write("\n\f\n".join(pages))
    return [len(pages)]


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--first", type=int, required=True)
    ap.add_argument("--count", type=int, required=True)
    ap.add_argument("--out", required=True)
    a = ap.parse_args()
    os.makedirs(a.out, exist_ok=True)
    with (
        LocalCluster(
            n_workers=1, threads_per_worker=2, dashboard_address=None
        ) as cluster,
        Client(cluster),
    ):
        invoices = db.from_sequence(
            range(a.first, a.first + a.count), npartitions=8
        ).map(invoice)
        cents = invoices.map(total).sum()
        batches = invoices.map(page).to_delayed()
        written = [delayed(write_batch)(p, a.out, i) for i, p in enumerate(batches)]
        cents, *counts = compute(cents, *written)
    print(sum(c[0] for c in counts), "pages", cents / 100, "EUR")


if __name__ == "__main__":
    main()
