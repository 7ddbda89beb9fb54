"""Refresh of the insurance quotes that the web shop shows.

For every product a task works out the quote of each tariff group, and fans out over the age bands inside
the worker, because only there the tariff tables are known.  The shop wants the file before 06:00: the
driver waits for a limited time and then leaves yesterday's quotes in place.
"""

import json
import logging
import random
import tempfile
import time
from pathlib import Path

from dask.distributed import Client, LocalCluster, get_client

log = logging.getLogger("quotes")
PRODUCTS = ("household", "bicycle", "travel", "liability", "dental", "pet")
BANDS = (18, 25, 35, 45, 55, 65, 75)
DEADLINE = 12.0


class QuotesOverdue(RuntimeError):
    """The quotes were not ready when the shop wanted them."""


def tariff_table(product):
    time.sleep(0.05)
    rng = random.Random(product)
    return {
        "base": rng.uniform(4, 30),
        "growth": rng.uniform(1.001, 1.02),
        "floor": 2.5,
    }


def band_quote(table, age):
    time.sleep(0.02)
    return max(table["floor"], table["base"] * table["growth"] ** (age - 18))


def product_quotes(product, table):
    client = get_client()
    parts = [
        client.submit(band_quote, table, age, key=f"band-{product}-{age}")
        for age in BANDS
    ]
    return {"product": product, "quotes": dict(zip(BANDS, client.gather(parts)))}


class Refresh:
    def __init__(self, client, target):
        self.client = client
        self.target = target
        self.rows = []

    def tables(self):
        futures = self.client.map(tariff_table, PRODUCTS, key="tariff")
        return dict(zip(PRODUCTS, futures))

    def run(self):
        tables = self.tables()
        futures = [
            self.client.submit(product_quotes, p, t, key=f"product_quotes-{p}")
            for p, t in tables.items()
        ]
        end = time.monotonic() + DEADLINE
        for future in futures:
            try:
                self.rows.append(
                    future.result(timeout=max(0.1, end - time.monotonic()))
                )
            except TimeoutError as err:
                raise QuotesOverdue(
                    f"only {len(self.rows)} of {len(futures)} products quoted in {DEADLINE:.0f} s"
                ) from err

    def publish(self):
        self.target.write_text(json.dumps(self.rows, indent=1))
        log.info("%d products published to %s", len(self.rows), self.target.name)


def warm_up(client):
    """A probe that also shows whether the workers answer at all."""
    answers = client.run(lambda: time.time())
    log.info("%d workers answer", len(answers))
    probe = client.submit(lambda: 1 / 0)
    try:
        probe.result()
    except ZeroDivisionError:
        log.info("errors of tasks come back as they should")


def main():
    logging.basicConfig(
        level=logging.INFO, format="%(asctime)s %(levelname)s %(message)s"
    )
    with tempfile.TemporaryDirectory() as folder:
        cluster = LocalCluster(
            n_workers=2,
            threads_per_worker=1,
            memory_limit="350MB",
            dashboard_address=None,
            local_directory=folder,
        )
        client = Client(cluster)
        try:
            warm_up(client)
            refresh = Refresh(client, Path(folder) / "quotes.json")
            refresh.run()
            refresh.publish()
        finally:
            log.info("closing down")
            client.close()
            cluster.close(timeout=2)


if __name__ == "__main__":
    main()
