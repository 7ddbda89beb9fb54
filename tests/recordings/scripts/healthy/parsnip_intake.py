"""Parsnip intake of the packing house: weighs crates, puts unreadable slips aside and reports both."""

import csv
import logging
import os
import sys

import numpy as np
from dask.distributed import (
    Client,
    LocalCluster,
    as_completed,
    get_client,
    secede,
    rejoin,
)

logging.basicConfig(level=logging.INFO, format="%(asctime)s %(levelname)s %(message)s")
log = logging.getLogger("intake")


class UnreadableSlip(ValueError):
    pass


def slip(number):
    rng = np.random.default_rng(number)
    text = f"{number};{rng.normal(12, 1.5):.2f};{['N', 'S'][number % 2]}"
    return text.replace(".", "?") if number % 17 == 5 else text


def weigh(number):
    parts = slip(number).split(";")
    try:
        return int(parts[0]), float(parts[1]), parts[2]
    except ValueError as error:
        raise UnreadableSlip(f"slip {number}: {parts[1]!r}") from error


def field_total(field, numbers):
    """Sums a field with tasks of its own; slips that cannot be read count as zero here."""
    client = get_client()
    futures = client.map(weigh, numbers)
    secede()
    total = 0.0
    for future in as_completed(futures):
        if future.status == "finished":
            total += future.result()[1]
    rejoin()
    return field, round(total, 2)


def main():
    cluster = LocalCluster(
        n_workers=1, threads_per_worker=2, memory_limit="900MB", dashboard_address=":0"
    )
    client = Client(cluster)
    good, aside = [], []
    for future, result in as_completed(
        client.map(weigh, range(120)), with_results=True, raise_errors=False
    ):
        if future.status == "error":
            kind, error, _ = result
            if kind is not UnreadableSlip:
                raise error
            aside.append(str(error))
        else:
            good.append(result)
    with open("aside.csv", "w", newline="") as out:
        csv.writer(out).writerows([[text] for text in sorted(aside)])
    log.info(
        "%d crates weighed, %d slips put aside in %s",
        len(good),
        len(aside),
        os.path.abspath("aside.csv"),
    )

    totals = client.gather(
        [client.submit(field_total, f, list(range(f, 120, 2))) for f in (0, 1)]
    )
    log.info("per field: %s", dict(totals))
    # more than one slip in ten unreadable would be a broken printer
    return 0 if len(aside) <= 12 else 3


if __name__ == "__main__":
    sys.exit(main())
