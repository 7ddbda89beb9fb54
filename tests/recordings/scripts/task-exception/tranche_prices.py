"""Prices the tranches of the bond programme; one bad tranche stops the whole batch."""

import logging
import threading
import time

import numpy as np
from dask.distributed import Client, LocalCluster

logging.basicConfig(level=logging.INFO, format="%(levelname)s %(message)s")
log = logging.getLogger("tranches")


def curve(currency):
    time.sleep(0.3)
    return np.linspace(0.02, 0.04, 30) + (0.01 if currency == "NOK" else 0)


def price_tranche(rates, tranche):
    if tranche == 7:
        dates = [2029, 2031, 2030, 2034]
    else:
        dates = [2029, 2030, 2031, 2034]
        time.sleep(60 if tranche == 0 else 0.8)
    gaps = np.diff(dates)
    if (gaps <= 0).any():
        raise ValueError(f"tranche {tranche}: coupon dates are not increasing: {dates}")
    return float(np.exp(-rates[: len(dates)].cumsum()).sum())


class Batch:
    """Stops what is still running as soon as one tranche has gone wrong."""

    def __init__(self, client):
        self.client, self.futures, self.stopped = client, [], threading.Event()

    def add(self, future):
        self.futures.append(future)
        future.add_done_callback(self.look)

    def look(self, future):
        if future.status == "error" and not self.stopped.is_set():
            self.stopped.set()
            self.client.cancel(
                [other for other in self.futures if other is not future], force=True
            )


def main():
    with LocalCluster(
        n_workers=2, threads_per_worker=2, memory_limit="500MB", dashboard_address=":0"
    ) as cluster:
        with Client(cluster) as client:
            client.wait_for_workers(2)
            rates = client.submit(curve, "NOK")
            log.info("curve: %.4f", rates.result()[0])
            batch = Batch(client)
            for tranche in range(10):
                batch.add(
                    client.submit(
                        price_tranche, rates, tranche, key=f"price_tranche-{tranche}"
                    )
                )
            total = 0.0
            for future in batch.futures:
                total += future.result()
            log.info("programme: %.3f", total)


if __name__ == "__main__":
    main()
