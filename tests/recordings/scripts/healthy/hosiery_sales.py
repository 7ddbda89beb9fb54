"""Hourly sales of the hosiery shops; the pool grows with the work. Tills answer badly now and then, so reads are tried again."""

import logging
import pathlib
import time

import numpy as np
import pandas as pd
from dask.distributed import Client, LocalCluster

logging.basicConfig(level=logging.INFO, format="%(asctime)s %(levelname)s %(message)s")
log = logging.getLogger("hosiery")

SPOOL = pathlib.Path("spool").absolute()


class TillBusy(ConnectionError):
    """The till is closing its shift; it answers again shortly."""


def read_till(shop):
    asked = SPOOL / f"asked-{shop}"
    if shop % 7 == 3 and not asked.exists():
        asked.touch()
        raise TillBusy(f"till {shop} is closing its shift")
    rng = np.random.default_rng(shop)
    time.sleep(0.3)
    return pd.DataFrame(
        {
            "shop": shop,
            "hour": rng.integers(9, 20, 4000),
            "article": rng.choice(["sock", "tight", "stocking"], 4000),
            "amount": rng.gamma(3, 4, 4000).round(2),
        }
    )


def hourly(frame):
    time.sleep(0.2)
    return frame.groupby(["hour", "article"], as_index=False)["amount"].sum()


def combine(frames):
    return pd.concat(frames).groupby(["hour", "article"])["amount"].sum().unstack()


def run_batch(client, shops):
    reads = client.map(read_till, shops, retries=3)
    sums = client.map(hourly, reads)
    return client.submit(combine, sums).result(timeout=60)


def main():
    SPOOL.mkdir(exist_ok=True)
    cluster = LocalCluster(
        n_workers=1, threads_per_worker=1, memory_limit="350MB", dashboard_address=None
    )
    cluster.adapt(
        minimum=1, maximum=3, interval="500ms", wait_count=2, target_duration="2s"
    )
    client = Client(cluster)
    try:
        morning = run_batch(client, range(0, 24))
        log.info(
            "morning: %.2f with %d workers",
            morning.to_numpy().sum(),
            len(cluster.workers),
        )
        # the second delivery comes a little later, the pool has shrunk by then
        time.sleep(4)
        log.info("%d workers between the deliveries", len(cluster.workers))
        evening = run_batch(client, range(24, 40))
        log.info(
            "evening: %.2f with %d workers",
            evening.to_numpy().sum(),
            len(cluster.workers),
        )
        total = morning.add(evening, fill_value=0)
        total.to_csv("hosiery.csv")
        log.info("written: %d hours", len(total))
    finally:
        client.close()
        cluster.close()


if __name__ == "__main__":
    main()
