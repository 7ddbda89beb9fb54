"""Plan delivery routes for vaccine boxes that must stay cold."""

import csv
import logging
import pathlib
import sys
import tempfile

from dask.distributed import Client, LocalCluster, get_worker

logging.basicConfig(level=logging.INFO, format="%(levelname)s %(name)s: %(message)s")
log = logging.getLogger("routes")

PRODUCTS = [
    # product, lowest, highest, hours out of the fridge
    ("MMR-2", "2", "8", "6"),
    ("MOD-7", "-25", "-15", "1"),
    ("PFZ-1", "-80", "-60", ""),
    ("FLU-9", "2", "8", "12"),
    ("HPV-4", "2", "8", "3"),
]


def write_products(folder):
    path = folder / "products.csv"
    with path.open("w", newline="") as handle:
        writer = csv.writer(handle)
        writer.writerow(["product", "low", "high", "max_hours"])
        writer.writerows(PRODUCTS)
    return path


def load_cold_chain(path, dask_worker=None):
    """Read the product table once per worker; the tasks look products up in it."""
    table = {}
    with open(path, newline="") as handle:
        for row in csv.DictReader(handle):
            table[row["product"]] = {
                "range": (float(row["low"]), float(row["high"])),
                "max_hours": float(row["max_hours"]),
            }
    dask_worker.cold_chain = table
    return len(table)


def cold_chain():
    worker = get_worker()
    if not hasattr(worker, "cold_chain"):
        worker.cold_chain = {}
    return worker.cold_chain


def distances(depot, clinics):
    return [
        (clinic, 4 + (hash_of(depot) * 7 + i * 13) % 60)
        for i, clinic in enumerate(clinics)
    ]


def hash_of(text):
    return sum(ord(c) for c in text)


def plan_route(depot, product, legs):
    limits = cold_chain()[product]
    route, hours = [], 0.0
    for clinic, km in sorted(legs, key=lambda leg: leg[1]):
        hours += km / 45 + 0.2
        if hours > limits["max_hours"]:
            break
        route.append(clinic)
    return {
        "depot": depot,
        "product": product,
        "stops": route,
        "hours": round(hours, 2),
    }


def summarise(plans):
    covered = sum(len(p["stops"]) for p in plans)
    return {"routes": len(plans), "stops": covered}


def main():
    depots = ["north", "quayside", "hill", "airport"]
    clinics = [f"clinic-{n}" for n in range(12)]
    orders = [(d, p) for d in depots for p in ("MMR-2", "MOD-7", "FLU-9")]

    with tempfile.TemporaryDirectory() as folder:
        products = write_products(pathlib.Path(folder))
        with (
            LocalCluster(
                n_workers=2,
                threads_per_worker=1,
                memory_limit="300MiB",
                dashboard_address=":0",
            ) as cluster,
            Client(cluster) as client,
        ):
            loaded = client.run(load_cold_chain, str(products), on_error="ignore")
            log.info("product table: %s", loaded or "ready")

            legs = {
                d: client.submit(distances, d, clinics, key=f"distances-{d}")
                for d in depots
            }
            plans = [
                client.submit(plan_route, d, p, legs[d], key=f"plan_route-{d}-{p}")
                for d, p in orders
            ]
            total = client.submit(summarise, plans, key="summarise")
            print(total.result())
    return 0


if __name__ == "__main__":
    sys.exit(main())
