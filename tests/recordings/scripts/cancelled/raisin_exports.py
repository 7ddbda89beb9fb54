"""Export papers for dried fruit: lots, phytosanitary grades, customs values.

Memory of the graders creeps up over a season, so the job starts the workers
afresh between its steps.
"""

import functools
import logging
import time

import numpy as np
import pandas as pd
from dask.distributed import Client, LocalCluster

logging.basicConfig(level=logging.INFO, format="%(asctime)s %(message)s")
log = logging.getLogger("exports")
LOTS = range(1, 9)


def step(title):
    def wrap(method):
        @functools.wraps(method)
        def inner(self, *args):
            start = time.perf_counter()
            log.info("== %s", title)
            result = method(self, *args)
            log.info("== %s: %.1f s", title, time.perf_counter() - start)
            return result

        return inner

    return wrap


def exchange_rates(day):
    rng = np.random.default_rng(11)
    return pd.Series(
        rng.uniform(0.5, 2, 4), index=["USD", "GBP", "SEK", "JPY"], name=day
    )


def weigh(lot):
    rng = np.random.default_rng(lot)
    time.sleep(0.1)
    return pd.DataFrame(
        {"lot": lot, "box": range(300), "kg": rng.normal(12.5, 0.2, 300)}
    )


def grade(boxes):
    boxes = boxes.copy()
    boxes["grade"] = np.where(boxes["kg"] > 12.4, "A", "B")
    return boxes


def price_table(boxes):
    if len(boxes) < 300:
        raise ValueError("short lot")
    return boxes.groupby("grade")["kg"].sum()


def customs_value(kilos, rates):
    return float(kilos.sum() * rates["USD"])


class Exports:
    def __init__(self, client):
        self.client = client
        self.rates = None
        self.graded = None
        self.kilos = None

    @step("rates")
    def fetch_rates(self):
        self.rates = self.client.submit(exchange_rates, "2026-11-27")
        log.info("%d rates", len(self.rates.result()))

    @step("grading")
    def grade_lots(self):
        boxes = self.client.map(weigh, LOTS)
        self.graded = self.client.gather(self.client.map(grade, boxes))

    def fresh_workers(self):
        self.client.restart(timeout=30)
        log.info("workers are fresh")

    @step("weights")
    def sum_lots(self):
        self.kilos = self.client.map(price_table, self.graded)
        self.kilos = self.client.gather(self.kilos)

    @step("customs")
    def declare(self):
        values = [self.client.submit(customs_value, k, self.rates) for k in self.kilos]
        return self.client.gather(values)


def main():
    with (
        LocalCluster(
            n_workers=2,
            threads_per_worker=1,
            memory_limit="400MB",
            dashboard_address=None,
        ) as cluster,
        Client(cluster) as client,
    ):
        job = Exports(client)
        job.fetch_rates()
        job.grade_lots()
        job.fresh_workers()
        job.sum_lots()
        total = sum(job.declare())
        log.info("customs value %.2f", total)


if __name__ == "__main__":
    main()
