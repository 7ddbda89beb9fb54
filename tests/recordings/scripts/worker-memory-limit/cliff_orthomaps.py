"""Renders the orthophotos of the cliff flights, tile after tile."""

import argparse
import logging
import sys
import tempfile
import time

import dask
import numpy as np
from dask.distributed import Client, LocalCluster, as_completed, get_worker

log = logging.getLogger("orthomaps")

FLIGHTS = ("north-face", "old-harbour", "stack")
TILES_PER_FLIGHT = 14
MB = 1024 * 1024


def elevation(flight, tile):
    """Height model of one tile. Neighbours ask for it too, hence the memo."""
    worker = get_worker()
    memo = getattr(worker, "elevation_memo", None)
    if memo is None:
        memo = worker.elevation_memo = {}
    key = (flight, tile)
    if key not in memo:
        rng = np.random.default_rng(tile)
        memo[key] = rng.random(9 * MB // 8)
    return memo[key]


def render_tile(flight, tile):
    heights = elevation(flight, tile)
    canvas = np.ones(85 * MB // 8)
    canvas[: heights.size] += heights
    time.sleep(0.45)
    mean = float(canvas[: heights.size].mean())
    del canvas
    return {"flight": flight, "tile": tile, "mean": mean}


def tile_note(rendered):
    """Line for the sheet's legend."""
    return "{flight}/{tile:02d} {mean:.4f}".format(**rendered)


def legend(notes):
    return "\n".join(sorted(notes))


def warm_up(client):
    versions = client.run(lambda: np.__version__)
    log.info("numpy on workers: %s", sorted(set(versions.values())))


def parse(argv):
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--limit", default="330MiB", help="memory of the worker")
    parser.add_argument("--flights", nargs="*", default=list(FLIGHTS))
    return parser.parse_args(argv)


def main(argv=None):
    args = parse(argv)
    logging.basicConfig(
        level=logging.INFO, format="%(asctime)s %(name)s %(levelname)s %(message)s"
    )
    dask.config.set({"distributed.scheduler.allowed-failures": 0})
    with tempfile.TemporaryDirectory(prefix="orthomaps-") as tmp:
        cluster = LocalCluster(
            n_workers=1,
            threads_per_worker=1,
            memory_limit=args.limit,
            dashboard_address=":0",
            local_directory=tmp,
        )
        client = Client(cluster)
        try:
            warm_up(client)
            rendered = [
                client.submit(
                    render_tile,
                    flight,
                    tile,
                    key=f"render_tile-{flight}-{tile:02d}",
                    pure=False,
                )
                for flight in args.flights
                for tile in range(TILES_PER_FLIGHT)
            ]
            notes = [
                client.submit(tile_note, fut, key=f"tile_note-{n:02d}")
                for n, fut in enumerate(rendered)
            ]
            sheet = client.submit(legend, notes, key="legend")
            for n, fut in enumerate(as_completed(rendered), 1):
                row = fut.result()
                if n % 4 == 0:
                    log.info(
                        "%d of %d tiles, last %s/%d",
                        n,
                        len(rendered),
                        row["flight"],
                        row["tile"],
                    )
            log.info("legend has %d lines", len(sheet.result().splitlines()))
        finally:
            client.close()
            cluster.close()
    return 0


if __name__ == "__main__":
    sys.exit(main())
