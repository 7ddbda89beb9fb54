"""Ripeness of the vineyard's blocks; the probes' gateway is checked between the stages."""

import logging
import time

import numpy as np
import pandas as pd
import dask.dataframe as dd
from dask.distributed import Client, LocalCluster, wait

log = logging.getLogger("vineyard")


def block_frame(block):
    rng = np.random.default_rng(block)
    return pd.DataFrame(
        {
            "block": block,
            "row": np.arange(400) % 20,
            "brix": rng.normal(21 + block % 3, 1.2, 400),
        }
    )


def ask_gateway(gateway):
    time.sleep({"south": 4.0}.get(gateway, 0.2))
    return gateway, "ok"


class Health:
    """Checks that the cluster still answers; brings it back to life if not."""

    def __init__(self, client, patience):
        self.client = client
        self.patience = patience

    def check(self, gateways):
        probes = self.client.map(ask_gateway, gateways, pure=False)
        try:
            return dict(self.client.submit(dict, probes).result(timeout=self.patience))
        except TimeoutError:
            log.warning(
                "health check not answered within %.1f s, recovering", self.patience
            )
            del probes
            self.client.restart(timeout=20)
            return {}


def ripe(frame):
    means = frame.groupby("block")["brix"].mean()
    return means[means > 21.5]


def main():
    logging.basicConfig(level=logging.INFO)
    with (
        LocalCluster(
            n_workers=2, threads_per_worker=1, dashboard_address=None
        ) as cluster,
        Client(cluster) as client,
    ):
        blocks = dd.from_map(
            block_frame, range(12), meta=block_frame(0).iloc[:0]
        ).persist()
        wait(blocks)
        log.info("%d blocks loaded", blocks.npartitions)
        gateways = Health(client, patience=2.5).check(["north", "south", "east"])
        log.info("gateways: %s", gateways or "none answered")
        for block, brix in ripe(blocks).compute().items():
            print(f"block {block}: {brix:.1f} Brix")


if __name__ == "__main__":
    main()
