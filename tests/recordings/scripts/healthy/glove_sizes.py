"""Size tables of gloves from scans of hands; workers are renewed between seasons."""

import logging
import sys
import time

import dask.array as da
import numpy as np
from dask.distributed import Client, LocalCluster, get_worker

logging.basicConfig(
    level=logging.INFO, format="%(asctime)s %(levelname)s %(name)s %(message)s"
)
log = logging.getLogger("glove_sizes")

SEASONS = ["autumn", "winter"]


def hands(season):
    seed = sum(season.encode())
    return da.random.default_rng(seed).normal(19.5, 1.4, size=40_000, chunks=10_000)


def fit_sizes(lengths):
    worker = get_worker()
    if not hasattr(worker, "workspace"):
        worker.workspace = []
    worker.workspace.append(np.ones(1_000_000))
    return np.quantile(lengths, [0.1, 0.3, 0.5, 0.7, 0.9]).round(2)


def held_memory(dask_worker):
    return sum(block.nbytes for block in getattr(dask_worker, "workspace", []))


def renew(client):
    addresses = list(client.scheduler_info()["workers"])
    held = client.run(held_memory)
    log.warning(
        "renewing %d workers, %d MiB held", len(addresses), sum(held.values()) // 2**20
    )
    outcome = client.restart_workers(addresses, timeout=60, raise_for_error=False)
    for address, state in outcome.items():
        if state != "OK":
            log.error("worker %s did not come back: %s", address, state)
    client.wait_for_workers(1, timeout=60)


def season_table(client, season):
    lengths = hands(season)
    blocks = [
        client.submit(fit_sizes, block, key=f"fit_sizes-{season}-{n}")
        for n, block in enumerate(client.compute(list(lengths.to_delayed())))
    ]
    tables = client.gather(blocks)
    return np.mean(tables, axis=0)


def main():
    started = time.monotonic()
    with LocalCluster(
        n_workers=1, threads_per_worker=2, memory_limit="500MB", dashboard_address=None
    ) as cluster:
        with Client(cluster) as client:
            tables = {}
            for number, season in enumerate(SEASONS):
                if number:
                    renew(client)
                tables[season] = season_table(client, season)
                log.info("%s: %s", season, tables[season].tolist())
    log.info(
        "size tables of %d seasons after %.0f s",
        len(tables),
        time.monotonic() - started,
    )
    return 0


if __name__ == "__main__":
    sys.exit(main())
