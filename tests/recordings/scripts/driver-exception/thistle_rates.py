"""Value the seed lots of the spring auction in the house currency.

The conversion table is published once by the driver, while the lots are
already being graded on the cluster.
"""

import argparse
import csv
import logging
import random
import sys
import tempfile
import threading
import time
from pathlib import Path

from distributed import Client, LocalCluster, Variable

log = logging.getLogger("thistle_rates")

RATES = [
    ("EUR", "1.0"),
    ("GBP", "1.1634"),
    ("SEK", "0.0887"),
    ("CHF", "1,0702"),
    ("NOK", "0.0851"),
    ("PLN", "0.2338"),
]


def write_rates(path):
    """The desk drops this sheet into the folder each morning."""
    with open(path, "w", newline="") as stream:
        writer = csv.writer(stream, delimiter=";")
        writer.writerow(["currency", "rate"])
        writer.writerows(RATES)


def parse_rates(path):
    table = {}
    with open(path, newline="") as stream:
        for row in csv.DictReader(stream, delimiter=";"):
            table[row["currency"]] = float(row["rate"])
    return table


def publish_rates(client, path):
    """Body of the publisher thread."""
    log.info("publishing rates of %s", path.name)
    table = parse_rates(path)
    Variable("house-rates", client=client).set(table)
    log.info("published %d rates", len(table))


def make_lots(count, seed):
    rng = random.Random(seed)
    currencies = [name for name, _ in RATES]
    return [
        {
            "lot": f"TH-{number:03d}",
            "grams": rng.randint(200, 9000),
            "price": round(rng.uniform(0.02, 0.4), 4),
            "currency": rng.choice(currencies),
        }
        for number in range(count)
    ]


def grade_lot(lot):
    """Germination test, simulated; a lot may lose up to a tenth of its weight."""
    rng = random.Random(lot["lot"])
    time.sleep(0.2)
    return {**lot, "grams": int(lot["grams"] * rng.uniform(0.9, 1.0))}


def value_lot(lot, patience):
    """Price of a lot in the house currency, None if it has to be priced by hand."""
    try:
        rates = Variable("house-rates").get(timeout=patience)
    except TimeoutError:
        logging.getLogger("distributed.worker").warning(
            "lot %s left unpriced", lot["lot"]
        )
        return None
    return lot["grams"] * lot["price"] * rates[lot["currency"]]


def report(lots, values):
    total = sum(values)
    log.info("catalogue of %d lots worth %.2f", len(lots), total)
    return total


def main(argv=None):
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--lots", type=int, default=8)
    parser.add_argument("--seed", type=int, default=41)
    parser.add_argument("--patience", type=float, default=8)
    args = parser.parse_args(argv)
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(name)s %(message)s")

    lots = make_lots(args.lots, args.seed)
    with (
        tempfile.TemporaryDirectory(prefix="thistle-") as folder,
        LocalCluster(
            n_workers=2, threads_per_worker=2, dashboard_address=None
        ) as cluster,
        Client(cluster) as client,
    ):
        sheet = Path(folder) / "rates_morning.csv"
        write_rates(sheet)
        publisher = threading.Thread(
            target=publish_rates, args=(client, sheet), name="rates-publisher"
        )
        publisher.start()

        graded = client.map(grade_lot, lots)
        values = client.map(value_lot, graded, patience=args.patience)
        publisher.join()
        report(lots, client.gather(values))
    return 0


if __name__ == "__main__":
    sys.exit(main())
