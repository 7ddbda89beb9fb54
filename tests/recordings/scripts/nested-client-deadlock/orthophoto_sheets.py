"""Stitch the orthophoto sheets of the land survey: regions first, tiles within."""

import argparse
import logging

import numpy as np
from dask.distributed import Client, LocalCluster, get_client, wait

log = logging.getLogger("orthophoto")
REGIONS = {"upper-vale": 6, "lower-vale": 5, "moor": 8, "estuary": 4}


def load_tile(region, index, size=128):
    rng = np.random.default_rng([len(region), index])
    return rng.integers(0, 255, size=(size, size), dtype="u1")


def balance(tile):
    low, high = np.percentile(tile, [2, 98])
    return np.clip((tile - low) / max(high - low, 1) * 255, 0, 255).astype("u1")


def stitch(region, tiles):
    """One sheet from a region's tiles; the tiles are spread over the cluster."""
    client = get_client()
    raw = client.map(load_tile, [region] * tiles, range(tiles))
    balanced = client.map(balance, raw)
    sheet = np.hstack(client.gather(balanced))
    return region, sheet.shape, int(sheet.mean())


class Survey:
    def __init__(self, client, patience):
        self.client = client
        self.patience = patience

    def warm_up(self):
        tile = self.client.submit(load_tile, "warm-up", 0)
        return self.client.submit(balance, tile).result(timeout=self.patience).nbytes

    def sheets(self):
        futures = [
            self.client.submit(stitch, region, tiles)
            for region, tiles in REGIONS.items()
        ]
        wait(futures, timeout=self.patience)
        return self.client.gather(futures)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--patience", type=float, default=14)
    args = parser.parse_args()
    logging.basicConfig(level=logging.INFO)
    with (
        LocalCluster(
            n_workers=2, threads_per_worker=1, dashboard_address=None
        ) as cluster,
        Client(cluster) as client,
    ):
        survey = Survey(client, args.patience)
        log.info("warm, %d bytes a tile", survey.warm_up())
        for region, shape, mean in survey.sheets():
            print(region, shape, mean)


if __name__ == "__main__":
    main()
