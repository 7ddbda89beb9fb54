"""Pollen forecast: wait for the whole cluster, then broadcast the weather."""

import logging

import numpy as np
from dask.distributed import Client, LocalCluster

log = logging.getLogger("pollen")
CONFIG = {"workers": 2, "replicas": 5, "arrival": 10}


def disperse(field, species):
    return species, float((field * (species + 1)).mean())


def main():
    logging.basicConfig(level=logging.INFO, format="%(name)s %(message)s")
    with LocalCluster(
        n_workers=CONFIG["workers"], threads_per_worker=1, dashboard_address=":0"
    ) as cluster:
        with Client(cluster) as client:
            log.info("waiting for %d workers", CONFIG["replicas"])
            client.wait_for_workers(CONFIG["replicas"], timeout=CONFIG["arrival"])
            field = np.random.default_rng(3).random((400, 400))
            weather = client.scatter(field, broadcast=True)
            rows = client.gather(
                [client.submit(disperse, weather, s) for s in range(20)]
            )
            log.info("%s", max(rows, key=lambda r: r[1]))


if __name__ == "__main__":
    main()
