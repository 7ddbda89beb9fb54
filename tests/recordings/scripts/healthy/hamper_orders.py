"""Christmas hampers: pack lists for the orders of the day and a stock forecast for the week.

The pool grows with the queue of orders and shrinks again for the small forecast.
"""

import contextlib
import logging
import os
import pathlib
import tempfile
import time

from distributed import Client, LocalCluster, as_completed

log = logging.getLogger("hampers")
ITEMS = ["stilton", "port", "pudding", "shortbread", "tea", "chutney"]


class StockServiceBusy(Exception):
    """The warehouse service asks to come back later."""


def reserve(order, notes):
    """Reserve the items of one order.  The service turns away some calls at first."""
    time.sleep(0.2)
    seen = os.path.join(notes, str(order))
    if order % 20 == 7 and not os.path.exists(seen):
        open(seen, "w").close()
        raise StockServiceBusy(f"order {order}")
    return order, [ITEMS[(order + k) % len(ITEMS)] for k in range(1 + order % 4)]


def forecast(day, counts):
    time.sleep(0.1)
    return day, {item: round(n * (1 + 0.1 * day), 1) for item, n in counts.items()}


@contextlib.contextmanager
def pool():
    with LocalCluster(
        n_workers=1,
        threads_per_worker=1,
        memory_limit="400MB",
        dashboard_address=None,
        worker_dashboard_address=None,
    ) as cluster:
        cluster.adapt(
            minimum=1, maximum=3, interval="500ms", wait_count=3, target_duration="2s"
        )
        with Client(cluster) as client:
            yield client


def main():
    logging.basicConfig(level=logging.INFO)
    counts = dict.fromkeys(ITEMS, 0)
    with tempfile.TemporaryDirectory() as notes, pool() as client:
        orders = client.map(reserve, range(80), notes=notes, retries=2)
        for f in as_completed(orders):
            _, items = f.result()
            for item in items:
                counts[item] += 1
        log.info(
            "80 orders packed, %d workers", len(client.scheduler_info()["workers"])
        )
        del orders, f
        time.sleep(3)
        week = dict(
            client.gather(
                [
                    client.submit(forecast, d, counts, key=f"forecast-{d}")
                    for d in range(5)
                ]
            )
        )
        log.info("forecast made, %d workers", len(client.scheduler_info()["workers"]))
    pathlib.Path("forecast.txt").write_text(
        "\n".join(f"{d} {v}" for d, v in sorted(week.items()))
    )


if __name__ == "__main__":
    main()
