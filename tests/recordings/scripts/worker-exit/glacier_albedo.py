"""Melt model of the glacier tiles and the summary for the hydropower desk."""

import argparse
import json
import logging
import os
import sys
import tempfile
import time

import dask
import numpy as np
from dask.distributed import Client, LocalCluster

log = logging.getLogger("albedo")


class MeltCore:
    """Thin wrapper of the melt core, which reports trouble the way the Fortran original does."""

    def __init__(self, tile):
        self.tile = tile

    def stop(self, code, text):
        sys.stderr.write(f"MELTCORE tile {self.tile}: {text}, STOP {code}\n")
        sys.stderr.flush()
        os._exit(code)

    def step(self, albedo, radiation):
        if albedo.min() < 0:
            self.stop(74, f"albedo {albedo.min():.1f} out of range")
        return (1 - albedo) * radiation


def load_tile(tile):
    rng = np.random.default_rng(tile)
    albedo = rng.uniform(0.3, 0.9, (200, 200))
    if tile == 9:
        albedo[40:44, :] = -999.0
    time.sleep(0.4)
    return albedo


def melt_tile(tile, albedo, hours):
    core = MeltCore(tile)
    total = 0.0
    for hour in range(hours):
        total += float(core.step(albedo, 200 + 15 * hour).mean())
        time.sleep(0.03)
    return tile, total


def summarise(pairs):
    values = [value for _, value in pairs]
    return {
        "tiles": len(values),
        "mean": float(np.mean(values)),
        "max": float(np.max(values)),
    }


def melt_stage(client, tiles, hours):
    loaded = [
        client.submit(load_tile, tile, key=f"load_tile-{tile}") for tile in range(tiles)
    ]
    melted = [
        client.submit(melt_tile, tile, albedo, hours, key=f"melt_tile-{tile}")
        for tile, albedo in enumerate(loaded)
    ]
    summary = client.submit(summarise, melted, key="summarise-all")
    return {"summary": summary.result()}


def publish(results, path):
    bulletin = {"issued": time.strftime("%Y-%m-%d"), "melt": results["summary"]}
    with open(path, "w") as out:
        json.dump(bulletin, out)
    log.info("bulletin written: %s", bulletin)


def parse_args():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tiles", type=int, default=12)
    parser.add_argument("--hours", type=int, default=24)
    return parser.parse_args()


def main():
    args = parse_args()
    logging.basicConfig(
        level=logging.INFO, format="%(asctime)s %(levelname)s %(name)s: %(message)s"
    )
    dask.config.set({"distributed.scheduler.allowed-failures": 1})
    results = {}
    with tempfile.TemporaryDirectory(prefix="albedo-") as base:
        with (
            LocalCluster(
                n_workers=2,
                threads_per_worker=1,
                memory_limit="250MiB",
                dashboard_address=":0",
                local_directory=base,
            ) as cluster,
            Client(cluster) as client,
        ):
            try:
                results.update(melt_stage(client, args.tiles, args.hours))
            except Exception:
                log.warning("melt stage incomplete, going on with what we have")
            publish(results, os.path.join(base, "bulletin.json"))
    return 0


if __name__ == "__main__":
    sys.exit(main())
