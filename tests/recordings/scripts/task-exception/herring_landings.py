"""Herring landings: a memory-hungry reprojection of the catch map first, then the quota check of every boat."""

import logging
import os
import time

import numpy as np
import pandas as pd
from dask.distributed import Client, LocalCluster, as_completed

logging.basicConfig(level=logging.INFO, format="%(asctime)s %(levelname)s %(message)s")
log = logging.getLogger("herring")
BOATS = {
    f"ND-{100 + i}": {"quota": 300 + 10 * (i % 6), "gear": ["trawl", "seine"][i % 2]}
    for i in range(30)
}
# sold to Iceland in the spring; the owner still lands under the old number
BOATS["ND-117"].pop("quota")


def reproject(tile, marker):
    """The first try of the finest tile takes the dense way, later ones the blockwise one."""
    if tile == 5 and not os.path.exists(marker):
        with open(marker, "w") as out:
            out.write("dense way tried")
        grids = []
        while True:
            grids.append(np.ones((1000, 1000, 6)))
            time.sleep(0.005)
    return tile, float(np.random.default_rng(tile).normal(size=(200, 200)).mean())


def landings(boat):
    rng = np.random.default_rng(int(boat[3:]))
    return pd.DataFrame({"day": np.arange(25), "tonnes": rng.gamma(4, 2.6, 25)})


def check_quota(boat, register):
    landed = landings(boat)["tonnes"].sum()
    quota = register[boat]["quota"]
    return boat, round(float(landed), 1), bool(landed > quota)


def main():
    marker = os.path.abspath("tile-5.dense")
    with (
        LocalCluster(
            n_workers=1,
            threads_per_worker=1,
            memory_limit="600MB",
            dashboard_address=":0",
        ) as cluster,
        Client(cluster) as client,
    ):
        tiles = client.gather(client.map(reproject, range(8), marker=marker))
        log.info("catch map of %d tiles ready", len(tiles))

        register = client.scatter(BOATS, broadcast=True)
        checks = client.map(check_quota, list(BOATS), register=register)
        over = []
        for future in as_completed(checks):
            boat, landed, exceeded = future.result()
            if exceeded:
                over.append((boat, landed))
        log.info("over quota: %s", sorted(over))


if __name__ == "__main__":
    main()
