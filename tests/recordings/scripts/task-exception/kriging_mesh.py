"""Ordinary kriging of groundwater heads on a mesh, one tile at a time."""

import argparse
import csv
import io
import logging
import sys

import dask.array as da
import numpy as np
from dask.distributed import Client, LocalCluster, progress

log = logging.getLogger("kriging_mesh")

TILES = (4, 3)
TILE_SIZE = 48
RANGE_M = 900.0


def station_file():
    """The export of the borehole register."""
    rng = np.random.default_rng(1881)
    out = io.StringIO()
    w = csv.writer(out)
    w.writerow(["name", "tile", "x", "y", "head"])
    for n in range(240):
        tile = n % (TILES[0] * TILES[1])
        x, y = rng.uniform(0, 1000, 2).round(1)
        w.writerow(
            [
                f"HK-{n:03d}",
                tile,
                x,
                y,
                round(41 + 0.002 * x - 0.003 * y + rng.normal(0, 0.2), 3),
            ]
        )
        if n == 115:
            # well deepened in 2019, new number
            w.writerow(["HK-115a", tile, x, y, 40.117])
    return out.getvalue()


def read_stations(text):
    stations = {}
    for row in csv.DictReader(io.StringIO(text)):
        stations.setdefault(int(row["tile"]), []).append(
            (float(row["x"]), float(row["y"]), float(row["head"]))
        )
    return {tile: np.array(rows) for tile, rows in stations.items()}


def covariance(d):
    return np.exp(-d / RANGE_M)


def weights_of(points):
    """Inverse kriging system of the stations of one tile."""
    d = np.hypot(
        points[:, None, 0] - points[None, :, 0], points[:, None, 1] - points[None, :, 1]
    )
    n = len(points)
    system = np.ones((n + 1, n + 1))
    system[:n, :n] = covariance(d)
    system[n, n] = 0.0
    return np.linalg.solve(system, np.append(points[:, 2], 0.0))


def krige_tile(block, stations=None, block_info=None):
    i, j = block_info[0]["chunk-location"]
    points = stations[i * TILES[1] + j]
    dual = weights_of(points)
    axis = np.linspace(0, 1000, TILE_SIZE)
    xx, yy = np.meshgrid(axis, axis, indexing="ij")
    d = np.hypot(xx[..., None] - points[:, 0], yy[..., None] - points[:, 1])
    return covariance(d) @ dual[:-1] + dual[-1]


def gradient_size(heads):
    gx, gy = da.gradient(heads)
    return da.sqrt(gx**2 + gy**2)


def main(argv=None):
    ap = argparse.ArgumentParser(description=__doc__)
    ap.add_argument("--workers", type=int, default=2)
    args = ap.parse_args(argv)
    logging.basicConfig(
        level=logging.INFO, format="%(asctime)s %(levelname)s %(message)s"
    )

    stations = read_stations(station_file())
    log.info("%d stations in %d tiles", sum(map(len, stations.values())), len(stations))
    with (
        LocalCluster(
            n_workers=args.workers,
            threads_per_worker=1,
            memory_limit="280MiB",
            dashboard_address=":0",
        ) as cluster,
        Client(cluster) as client,
    ):
        log.info("mesh on %s", client.scheduler.address)
        mesh = da.zeros((TILES[0] * TILE_SIZE, TILES[1] * TILE_SIZE), chunks=TILE_SIZE)
        heads = mesh.map_blocks(
            krige_tile, stations=stations, dtype="float64", meta=np.empty((0, 0))
        )
        slope = gradient_size(heads)
        low, mean, high = da.compute(heads.min(), heads.mean(), heads.max())
        log.info("heads %.2f / %.2f / %.2f m", low, mean, high)
        log.info("steepest gradient %.4f", slope.max().compute())
    return 0


if __name__ == "__main__":
    sys.exit(main())
