"""Prices the peach orders in two stages that know each other by a small hand-over file only."""

import json
import tempfile
import time
from pathlib import Path

import pandas as pd
from dask.distributed import Client, Future


def price(tariff, order):
    return order * float(tariff.loc[order % len(tariff), "eur"])


def collect(count):
    time.sleep(2)
    return list(range(count))


def stage_tariff(client, handover):
    """Puts the tariff of the day into the cluster's memory; the key is what the next stage needs."""
    tariff = client.scatter(pd.DataFrame({"eur": [2.1, 2.4, 1.9]}), broadcast=True)
    rows = client.submit(len, tariff).result()
    handover.write_text(json.dumps({"key": tariff.key, "rows": rows}))
    print("tariff with", rows, "rows is in memory")


def stage_orders(client):
    orders = client.submit(collect, 20)
    return orders.result()


def stage_price(client, handover, orders):
    tariff = Future(json.loads(handover.read_text())["key"], client)
    total = client.submit(
        sum, [client.submit(price, tariff, order) for order in orders]
    )
    print("total: %.2f" % total.result(timeout=30))


def main():
    with tempfile.TemporaryDirectory() as folder:
        handover = Path(folder) / "handover.json"
        with Client(
            n_workers=1, threads_per_worker=2, dashboard_address=None
        ) as client:
            stage_tariff(client, handover)
            orders = stage_orders(client)
            stage_price(client, handover, orders)


if __name__ == "__main__":
    main()
