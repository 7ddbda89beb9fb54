"""Orders of a plaster works: recipes are worked out, then batches are planned on a fresh set of workers.

The recipe stage leaves much behind in the workers (the additive library never gives memory back), so they are
restarted between the stages.
"""

import configparser
import io
import logging
import random

from distributed import Client, LocalCluster, wait

CONFIG = """
[cluster]
workers = 2
threads = 1
memory = 400MB

[stages]
products = 10
fresh_workers = yes
"""

log = logging.getLogger("plaster")


def price_list(currency):
    if currency == "CHF":
        raise LookupError("no rate for CHF since 2024")
    return {"gypsum": 0.09, "lime": 0.14, "perlite": 0.31}


def recipe(product, prices):
    rnd = random.Random(product)
    shares = [rnd.random() for _ in prices]
    scale = sum(shares)
    return {name: share / scale for name, share in zip(prices, shares)}


def cost(mix, prices):
    return sum(prices[name] * share for name, share in mix.items())


def batch_plan(mix, unit_cost, tons):
    return {
        "tons": tons,
        "lime": round(mix["lime"] * tons, 2),
        "eur": round(unit_cost * tons * 1000, 2),
    }


def day_total(plans):
    return sum(plan["eur"] for plan in plans)


class Works:
    def __init__(self, client, config):
        self.client = client
        self.products = config.getint("stages", "products")
        self.fresh = config.getboolean("stages", "fresh_workers")

    def recipes(self):
        try:
            prices = self.client.submit(price_list, "CHF")
            prices.result()
        except LookupError as err:
            log.warning("Swiss prices left out: %s", err)
        prices = self.client.submit(price_list, "EUR")
        mixes = self.client.map(recipe, range(self.products), prices=prices)
        costs = self.client.map(cost, mixes, prices=prices)
        wait(mixes + costs)
        log.info("%d recipes worked out", len(mixes))
        return mixes, costs

    def between(self):
        if self.fresh:
            log.info("workers are renewed")
            self.client.restart()

    def batches(self, mixes, costs):
        plans = self.client.map(
            batch_plan, mixes, costs, [5 + n % 4 for n in range(self.products)]
        )
        return self.client.submit(day_total, plans).result(timeout=30)

    def run(self):
        mixes, costs = self.recipes()
        self.between()
        return self.batches(mixes, costs)


def main():
    logging.basicConfig(level=logging.INFO, format="%(name)s %(levelname)s %(message)s")
    config = configparser.ConfigParser()
    config.read_file(io.StringIO(CONFIG))
    section = config["cluster"]
    cluster = LocalCluster(
        n_workers=section.getint("workers"),
        threads_per_worker=section.getint("threads"),
        memory_limit=section["memory"],
        dashboard_address=None,
    )
    client = Client(cluster)
    try:
        print("planned for the day: EUR", Works(client, config).run())
    finally:
        client.close()
        cluster.close()


if __name__ == "__main__":
    main()
