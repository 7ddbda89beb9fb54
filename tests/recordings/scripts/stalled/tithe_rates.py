"""Converts the tithes of 12 overseas dioceses to the base currency.

The day's exchange rates come from one task; the conversions wait for them
with a distributed Variable, so that they can read their files meanwhile.
"""

import logging
import random
import sys
import time

import dask
from dask.distributed import Client, LocalCluster, Variable, get_client, wait

log = logging.getLogger("tithes")

DIOCESES = {
    "accra": "GHS", "bergen": "NOK", "cebu": "PHP", "durban": "ZAR", "enugu": "NGN", "fukuoka": "JPY",
    "gdansk": "PLN", "harare": "USD", "iquique": "CLP", "jaffna": "LKR", "kigali": "RWF", "lima": "PEN",
}  # fmt: skip


def read_gifts(diocese, count=20000):
    rng = random.Random(diocese)
    return [rng.uniform(1, 50) for _ in range(count)]


def convert_gifts(diocese, currency):
    """Sum of the gifts of a diocese in the base currency."""
    gifts = read_gifts(diocese)
    rates = Variable("rates-2026-11-27", client=get_client()).get()
    return diocese, sum(gifts) * rates[currency]


def fetch_rates(currencies):
    """Asks the rate service and hands the rates to all who wait."""
    time.sleep(0.5)
    rng = random.Random(42)
    rates = {currency: rng.uniform(0.001, 1.1) for currency in currencies}
    Variable("rates-2026-11-27", client=get_client()).set(rates)
    return len(rates)


def warm_up(client):
    """The workers open their connections; a slow start is no reason to wait."""
    try:
        client.wait_for_workers(2, timeout=10)
    except TimeoutError:
        log.warning("starting with fewer workers")
    log.info("workers: %s", client.gather(client.map(len, ["ab", "cde"])))


def run(client, limit):
    conversions = [
        client.submit(convert_gifts, diocese, currency, key=f"convert-{diocese}")
        for diocese, currency in DIOCESES.items()
    ]
    # was submitted first until the conversions got their own file reading
    rates = client.submit(fetch_rates, sorted(set(DIOCESES.values())), key="rates")
    done = wait([rates, *conversions], timeout=limit).done
    log.info("%d done", len(done))
    return dict(client.gather(conversions))


def main():
    logging.basicConfig(
        level=logging.INFO,
        stream=sys.stdout,
        format="%(asctime)s %(levelname)s %(message)s",
    )
    dask.config.set({"distributed.scheduler.work-stealing": True})
    cluster = LocalCluster(n_workers=2, threads_per_worker=2, dashboard_address=None)
    client = Client(cluster)
    try:
        warm_up(client)
        totals = run(client, limit=20)
        log.info("%.2f in all", sum(totals.values()))
    except TimeoutError:
        log.error("tithes were not converted in time")
        return 4
    finally:
        client.close(timeout=2)
        cluster.close(timeout=5)
    return 0


if __name__ == "__main__":
    sys.exit(main())
