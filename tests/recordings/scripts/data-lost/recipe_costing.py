"""Costs of the recipes of a chain of canteens, week by week.

The price list of the wholesalers is large and goes to the workers once. Workers grow over the weeks (the recipe
parser keeps much), so they are renewed when half of the weeks are done.
"""

import argparse
import logging
import random

from dask.distributed import Client, LocalCluster

log = logging.getLogger("costing")

INGREDIENTS = [
    f"{kind}-{n:03d}"
    for kind in ("veg", "meat", "grain", "spice", "dairy")
    for n in range(200)
]


def price_list(seed):
    rng = random.Random(seed)
    return {name: round(rng.uniform(0.4, 19.0), 2) for name in INGREDIENTS}


def recipes_of(week):
    rng = random.Random(week)
    return [
        (
            f"w{week:02d}-{n}",
            [(rng.choice(INGREDIENTS), rng.randint(1, 9)) for _ in range(12)],
        )
        for n in range(60)
    ]


def cost_week(week, prices):
    costs = {}
    for name, parts in recipes_of(week):
        costs[name] = sum(prices[i] * amount for i, amount in parts)
    return week, costs


def dearest(result):
    week, costs = result
    return week, max(costs, key=costs.get), round(max(costs.values()), 2)


class Costing:
    def __init__(self, weeks):
        self.weeks = list(range(1, weeks + 1))
        self.report = []

    def __enter__(self):
        self.cluster = LocalCluster(
            n_workers=2,
            threads_per_worker=1,
            memory_limit="350MB",
            dashboard_address=None,
        )
        self.client = Client(self.cluster)
        return self

    def __exit__(self, *exc):
        self.client.close()
        self.cluster.close()

    def load_prices(self, seed):
        [self.prices] = self.client.scatter([price_list(seed)], hash=False)
        log.info(
            "prices loaded, held by %s",
            list(self.client.who_has([self.prices]).values()),
        )

    def run(self, weeks):
        costs = [
            self.client.submit(cost_week, w, self.prices, key=f"cost_week-{w:02d}")
            for w in weeks
        ]
        tops = self.client.map(dearest, costs)
        self.report += self.client.gather(tops)
        log.info("weeks %d to %d done", weeks[0], weeks[-1])

    def renew_workers(self):
        for address in list(self.client.scheduler_info()["workers"]):
            self.client.restart_workers([address], timeout=40)
        log.info(
            "workers renewed: %s", ", ".join(self.client.scheduler_info()["workers"])
        )


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--weeks", type=int, default=16)
    parser.add_argument("--seed", type=int, default=3)
    args = parser.parse_args()
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(name)s %(message)s")

    with Costing(args.weeks) as costing:
        costing.load_prices(args.seed)
        half = len(costing.weeks) // 2
        costing.run(costing.weeks[:half])
        costing.renew_workers()
        costing.run(costing.weeks[half:])
        with open("costs.csv", "w") as out:
            out.writelines(f"{w},{name},{cost}\n" for w, name, cost in costing.report)


if __name__ == "__main__":
    main()
