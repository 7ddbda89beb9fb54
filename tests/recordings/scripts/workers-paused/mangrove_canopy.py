"""Weekly mangrove canopy statistics: load the height tiles once, then run several reductions over all of them."""

import argparse
import logging
import sys
import tempfile
import time
from pathlib import Path

import dask
import numpy as np
from distributed import Client, LocalCluster, wait

log = logging.getLogger("mangrove_canopy")

SIDE = 900


def survey_area(folder, tiles):
    """The tiles come as compact uint8 grids, decimetres above ground."""
    rng = np.random.default_rng(7)
    for number in range(tiles):
        height = rng.integers(0, 180, size=(SIDE, SIDE), dtype=np.uint8)
        height[: number * 3] = 0
        np.save(folder / f"tile_{number:03d}.npy", height)
    return sorted(str(p) for p in folder.glob("tile_*.npy"))


def load_tile(path):
    """Heights in metres, water masked out."""
    time.sleep(0.15)  # tiles are fetched from the archive one by one
    height = np.load(path).astype("float64") / 10.0
    height[height == 0] = np.nan
    return height


def canopy_cover(tile, threshold):
    return float(np.nanmean(tile > threshold))


def tallest(tile):
    return float(np.nanmax(tile))


def biomass(tile):
    # allometric equation of the 2024 field campaign, tonnes per hectare
    return float(np.nansum(3.25 * np.nan_to_num(tile) ** 0.87) / tile.size)


def build_parser():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tiles", type=int, default=60)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--memory", default="240MB")
    parser.add_argument(
        "--patience",
        type=int,
        default=28,
        help="seconds for the load step, usually done in 5",
    )
    return parser


def run_reductions(client, tiles):
    cover = client.map(canopy_cover, tiles, threshold=2.0)
    peak = client.map(tallest, tiles)
    mass = client.map(biomass, tiles)
    return {
        "cover": float(np.mean(client.gather(cover))),
        "tallest": max(client.gather(peak)),
        "biomass": float(np.mean(client.gather(mass))),
    }


def main():
    args = build_parser().parse_args()
    logging.basicConfig(
        level=logging.INFO, format="%(asctime)s %(name)s %(levelname)s %(message)s"
    )
    dask.config.set(
        {
            # the scratch volume of these machines is tiny
            "distributed.worker.memory.target": False,
            "distributed.worker.memory.spill": False,
            # workers were restarted over and over in June
            "distributed.worker.memory.terminate": False,
        }
    )
    with tempfile.TemporaryDirectory(prefix="mangrove-") as tmp:
        folder = Path(tmp) / "tiles"
        folder.mkdir()
        paths = survey_area(folder, args.tiles)
        with (
            LocalCluster(
                n_workers=args.workers,
                threads_per_worker=1,
                memory_limit=args.memory,
                dashboard_address=":0",
                local_directory=tmp,
            ) as cluster,
            Client(cluster) as client,
        ):
            log.info("%d tiles on %d workers", len(paths), args.workers)
            tiles = client.map(load_tile, paths)
            try:
                wait(tiles, timeout=args.patience)
            except TimeoutError:
                done = sum(t.status == "finished" for t in tiles)
                log.error(
                    "only %d of %d tiles loaded after %d s, giving up",
                    done,
                    len(tiles),
                    args.patience,
                )
                return 2
            result = run_reductions(client, tiles)
            for name, value in result.items():
                log.info("%-10s %.3f", name, value)
    return 0


if __name__ == "__main__":
    sys.exit(main())
