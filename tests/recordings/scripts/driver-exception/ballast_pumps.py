"""Monthly settlement of the ballast pumps' energy, for the harbour's bookkeeping.

Tariffs are asked from the price service; when that is away the printed list is used.  The sum is compared
with the utility's invoice before anything is booked.
"""

import configparser
import logging
import socket
import sys
import time

import click
from distributed import Client, LocalCluster

log = logging.getLogger("settlement")

SETTINGS = """
[prices]
host = 127.0.0.1
port = 9

[invoice]
total = 48310.55
tolerance = 0.005

[pumps]
names = P1 P2 P3 P4 P5 P6 P7 P8
"""

PRINTED_LIST = {"day": 0.312, "night": 0.187}


def ask_prices(host, port):
    with socket.create_connection((host, int(port)), timeout=2) as connection:
        connection.sendall(b"TARIFF\n")
        day, night = connection.recv(100).split()
    return {"day": float(day), "night": float(night)}


def energy_of(pump):
    """Kilowatt hours of a month, from the pump's counter."""
    time.sleep(0.3)
    number = int(pump[1:])
    return {"day": 9000 + 410 * number, "night": 11000 + 260 * number}


def cost_of(energy, prices):
    return sum(energy[part] * prices[part] for part in prices)


def tariffs(client, settings):
    future = client.submit(
        ask_prices, settings["prices"]["host"], settings["prices"]["port"], retries=1
    )
    try:
        return future.result()
    except OSError:
        log.exception("price service is away, using the printed list")
        return PRINTED_LIST


def settle(client, settings):
    prices = tariffs(client, settings)
    energy = client.map(energy_of, settings["pumps"]["names"].split())
    costs = client.map(cost_of, energy, prices=prices)
    return client.submit(sum, costs).result()


def compare(total, invoice):
    billed = invoice.getfloat("total")
    difference = abs(total - billed) / billed
    log.info(
        "settlement %.2f, invoice %.2f, difference %.2f %%",
        total,
        billed,
        100 * difference,
    )
    return difference <= invoice.getfloat("tolerance")


@click.command()
@click.option("--month", default="2026-10")
@click.option("--workers", default=2)
def main(month, workers):
    logging.basicConfig(
        level=logging.INFO, format="%(asctime)s %(name)s %(levelname)s %(message)s"
    )
    settings = configparser.ConfigParser()
    settings.read_string(SETTINGS)
    with (
        LocalCluster(
            n_workers=workers,
            threads_per_worker=1,
            memory_limit="300MB",
            dashboard_address=None,
        ) as cluster,
        Client(cluster) as client,
    ):
        total = settle(client, settings)
    if not compare(total, settings["invoice"]):
        log.error(
            "settlement of %s does not agree with the invoice, nothing booked", month
        )
        sys.exit(4)
    log.info("booked")


if __name__ == "__main__":
    main()
