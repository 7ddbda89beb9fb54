"""Order events to merchant sessions. Fetches are flaky and retried; sessions are built per merchant."""

import logging
import os
import random
import tempfile
import time

import dask
import numpy as np
import pandas as pd
from dask.distributed import Client, KilledWorker, LocalCluster

logging.basicConfig(
    level=logging.INFO, format="%(asctime)s %(levelname)-7s %(message)s"
)
log = logging.getLogger("sessions")

# events per merchant and night; the market place sells for three thousand shops under one id
MERCHANTS = {
    "m-0817": 9_000,
    "m-1126": 14_000,
    "m-2204": 7_500,
    "m-3190": 11_000,
    "m-5001": 4_800_000,
    "m-6602": 8_000,
}


class GatewayBusy(OSError):
    pass


def fetch(merchant, n, folder):
    """The gateway answers 503 to the first call of every merchant, the second one works."""
    flag = os.path.join(folder, merchant)
    if not os.path.exists(flag):
        open(flag, "w").close()
        raise GatewayBusy(f"503 from event gateway for {merchant}")
    random.seed(merchant)
    return {"merchant": merchant, "n": n, "seed": random.randrange(10**6)}


def sessionize(batch):
    rng = np.random.default_rng(batch["seed"])
    clock = 0.0
    sessions, current = [], []
    for gap in rng.exponential(40.0, batch["n"]):
        clock += gap
        if gap > 900 and current:
            sessions.append(current)
            current = []
        # carts are kept with every event, the recommender wants to see them
        current.append(
            {"at": clock, "merchant": batch["merchant"], "cart": [clock] * 12}
        )
    sessions.append(current)
    return pd.DataFrame(
        {"merchant": batch["merchant"], "events": [len(s) for s in sessions]}
    )


def main():
    folder = tempfile.mkdtemp(prefix="gateway-")
    with dask.config.set(
        {
            "distributed.scheduler.allowed-failures": 0,
            "distributed.worker.memory.pause": False,
            "distributed.worker.memory.spill": False,
            "distributed.worker.memory.target": False,
        }
    ):
        with LocalCluster(
            n_workers=1,
            threads_per_worker=1,
            memory_limit="400MiB",
            dashboard_address=":0",
        ) as cluster:
            with Client(cluster) as client:
                batches = {
                    m: client.submit(fetch, m, n, folder, key=f"fetch-{m}", retries=2)
                    for m, n in MERCHANTS.items()
                }
                tables = []
                for m, batch in batches.items():
                    started = time.time()
                    try:
                        tables.append(
                            client.submit(
                                sessionize, batch, key=f"sessionize-{m}"
                            ).result()
                        )
                    except KilledWorker:
                        log.error(
                            "merchant %s failed after %.0f s", m, time.time() - started
                        )
                        raise
                    log.info("merchant %s: %d sessions", m, len(tables[-1]))
                print(
                    pd.concat(tables).groupby("merchant").events.agg(["count", "max"])
                )


if __name__ == "__main__":
    main()
