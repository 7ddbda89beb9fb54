"""Nightly roll-up of sofa orders for the factory planners.

Each step gets a cluster of its own, so that one step's memory is gone when the
next begins; a step that does not end well is tried again with smaller pieces.
"""

import functools
import logging
import time

import dask
import numpy as np
import pandas as pd
from distributed import Client, KilledWorker, LocalCluster

dask.config.set({"distributed.scheduler.allowed-failures": 0})
log = logging.getLogger("sofas")
ORDERS = 4_800_000


def with_cluster(**options):
    def decorate(step):
        @functools.wraps(step)
        def run(*args, **kwargs):
            with (
                LocalCluster(dashboard_address=None, **options) as cluster,
                Client(cluster) as client,
            ):
                log.info("%s: begins", step.__name__)
                result = step(client, *args, **kwargs)
                log.info("%s: ready", step.__name__)
                return result

        return run

    return decorate


def cost_block(first, count):
    """Material costs for a block of order lines; uses five work columns."""
    columns = []
    for n in range(5):
        columns.append(np.arange(first, first + count, dtype="float64") * (n + 1))
        time.sleep(0.05)
    frame = pd.DataFrame({str(n): c for n, c in enumerate(columns)})
    frame["order_id"] = frame["0"].astype("int64") // 40_000
    return frame.groupby("order_id")["4"].sum().reset_index(name="cost")


def delivery_block(number):
    time.sleep(0.2)
    ids = np.arange(number * 15, number * 15 + 15)
    # the carrier sends the last line of a sheet once more at the top of the next
    if number:
        ids = np.insert(ids, 0, ids[0] - 1)
    return pd.DataFrame({"order_id": ids, "days": 3 + ids % 9})


@with_cluster(n_workers=2, threads_per_worker=1, memory_limit="350MB")
def material_costs(client, pieces):
    size = ORDERS // pieces
    parts = client.gather(client.map(cost_block, range(0, ORDERS, size), count=size))
    return pd.concat(parts).groupby("order_id", as_index=False).sum()


@with_cluster(n_workers=2, threads_per_worker=2, memory_limit="300MB")
def deliveries(client, sheets=8):
    return pd.concat(
        client.gather(client.map(delivery_block, range(sheets))), ignore_index=True
    )


@with_cluster(n_workers=1, threads_per_worker=2, memory_limit="300MB")
def plan_weeks(client, weeks=4):
    shares = client.gather(client.map(lambda w: 1 / (w + 2), range(weeks)))
    return {w: s for w, s in enumerate(shares, 1)}


def try_pieces(step, *sizes):
    for pieces in sizes:
        try:
            return step(pieces)
        except KilledWorker as e:
            log.warning(
                "%s with %d pieces: %s; smaller pieces now",
                step.__name__,
                pieces,
                type(e).__name__,
            )
    raise RuntimeError(f"{step.__name__} is not possible on this machine")


def publish_totals(costs, days, weeks):
    table = costs.merge(days, on="order_id", how="left", validate="one_to_one")
    table["week"] = table["days"] // 7 + 1
    table["load"] = table["cost"] * table["week"].map(weeks)
    table.to_csv("totals.csv", index=False)
    return len(table)


def main():
    logging.basicConfig(
        level=logging.INFO, format="%(asctime)s %(levelname)s %(message)s"
    )
    costs = try_pieces(material_costs, 1, 48)
    days = deliveries()
    weeks = plan_weeks()
    print(publish_totals(costs, days, weeks), "orders published")


if __name__ == "__main__":
    main()
