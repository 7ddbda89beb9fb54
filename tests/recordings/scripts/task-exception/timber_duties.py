"""Computes import duties of timber consignments. The duty table is loaded once per worker and kept there."""

import csv
import logging
import os
import tempfile

import numpy as np
import pandas as pd
from dask import delayed
from dask.distributed import Client, LocalCluster, get_worker

log = logging.getLogger("duties")
SPECIES = ["spruce", "larch", "oak", "teak", "iroko"]


def publish_table(folder):
    """The customs office publishes the table; the comma of the last rate is theirs."""
    path = os.path.join(folder, "duty_table.csv")
    with open(path, "w", newline="") as out:
        rows = csv.writer(out, delimiter=";")
        rows.writerow(["species", "rate"])
        rows.writerows(
            [
                ["spruce", "0.02"],
                ["larch", "0.025"],
                ["oak", "0.04"],
                ["teak", "0.11"],
                ["iroko", "0,09"],
            ]
        )
    return path


def parse_table(path):
    with open(path, newline="") as lines:
        return {
            row["species"]: float(row["rate"])
            for row in csv.DictReader(lines, delimiter=";")
        }


def duty_table(path):
    """The table of this worker: read at its first use, shared by all later tasks."""
    worker = get_worker()
    if not hasattr(worker, "duty_table"):
        worker.duty_table = None
        try:
            worker.duty_table = parse_table(path)
        except Exception as error:
            log.warning(
                "duty table not loaded yet (%s), will be looked at later", error
            )
    return worker.duty_table


@delayed
def consignments(port):
    rng = np.random.default_rng(port)
    return pd.DataFrame(
        {
            "port": port,
            "species": rng.choice(SPECIES, 500),
            "cubic_m": rng.gamma(3.0, 12.0, 500),
            "price": rng.uniform(180, 900, 500),
        }
    )


@delayed
def add_duty(frame, path):
    table = duty_table(path)
    rates = frame["species"].map(lambda species: table[species])
    return frame.assign(duty=(frame["cubic_m"] * frame["price"] * rates).round(2))


@delayed
def by_species(frames):
    return pd.concat(frames).groupby("species")["duty"].sum()


def main():
    logging.basicConfig(level=logging.INFO)
    path = publish_table(tempfile.mkdtemp(prefix="duties-"))
    cluster = LocalCluster(
        n_workers=2, threads_per_worker=1, memory_limit="800MB", dashboard_address=None
    )
    client = Client(cluster)
    try:
        frames = [add_duty(consignments(port), path) for port in range(16)]
        print(by_species(frames).compute())
    finally:
        client.close()
        cluster.close()


if __name__ == "__main__":
    main()
