"""Seedling invoices: reads what every nursery sold during the week from its own export, and writes the
invoices per customer.

Each nursery exports in its own format; the readers below bring them into one shape."""

import argparse
import json
import logging
import pathlib

import dask
import dask.dataframe as dd
import numpy as np
import pandas as pd
from dask.distributed import Client, LocalCluster

log = logging.getLogger("seedlings")

SHAPE = pd.DataFrame(
    {
        "customer": pd.Series(dtype="int64"),
        "species": pd.Series(dtype="str"),
        "trays": pd.Series(dtype="int64"),
        "price": pd.Series(dtype="float64"),
    }
)
PRICES = {"beech": 14.5, "larch": 11.0, "oak": 19.9, "spruce": 8.75}


def export(folder, nursery, rows, seed):
    rng = np.random.default_rng(seed)
    species = rng.choice(sorted(PRICES), rows)
    lines = []
    for number in range(rows):
        line = {
            "customer": int(rng.integers(1, 60)),
            "species": str(species[number]),
            "trays": int(rng.integers(1, 40)),
        }
        if nursery == "ullsmoor":  # their new till writes this one with leading zeros
            line["customer"] = f"{line['customer']:06d}"
        lines.append(json.dumps(line))
    path = folder / f"{nursery}.jsonl"
    path.write_text("\n".join(lines) + "\n")
    return path


@dask.delayed(pure=True)
def read_nursery(path):
    with open(path) as stream:
        lines = [json.loads(line) for line in stream]
    frame = pd.DataFrame(lines)
    frame["species"] = frame["species"].astype("str")
    frame["price"] = frame["species"].map(PRICES).astype("float64")
    return frame[list(SHAPE.columns)]


@dask.delayed
def check_header(path):
    with open(path) as stream:
        first = json.loads(stream.readline())
    if "discount" not in first:
        raise LookupError(f"no discounts in {path}")
    return first["discount"]


def discounts(paths):
    found = {}
    for path in paths[:2]:
        try:
            found[path] = check_header(path).compute()
        except LookupError as error:
            log.info("%s: full price", error)
            found[path] = 0.0
    return found


def invoices(paths):
    sales = dd.from_delayed(
        [read_nursery(path) for path in paths], meta=SHAPE, verify_meta=True
    )
    sales = sales.assign(amount=sales.trays * sales.price)
    per_customer = sales.groupby("customer")[["trays", "amount"]].sum()
    return per_customer.compute().sort_index()


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--week", default="2026-W48")
    parser.add_argument("--out", default="invoices")
    options = parser.parse_args()
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(name)s %(message)s")

    folder = pathlib.Path("exports")
    folder.mkdir(exist_ok=True)
    nurseries = ["alderholt", "brackenby", "cressing", "tansley", "ullsmoor", "wexham"]
    paths = [
        str(export(folder, name, 600, seed)) for seed, name in enumerate(nurseries)
    ]

    with (
        LocalCluster(
            n_workers=2, threads_per_worker=1, dashboard_address=None
        ) as cluster,
        Client(cluster),
    ):
        log.info("discounts: %s", discounts(paths))
        result = invoices(paths)
    out = pathlib.Path(options.out)
    out.mkdir(exist_ok=True)
    result.to_csv(out / f"{options.week}.csv")
    log.info("%d customers, %.2f in all", len(result), result["amount"].sum())


if __name__ == "__main__":
    main()
