"""Nightly cleaning of combine-harvester GPS tracks: snap every track to its field and add up the harvested area."""

import argparse
import logging
import sys
import tempfile
import time
from pathlib import Path

import dask
import numpy as np
import pandas as pd
from distributed import Client, LocalCluster, WorkerPlugin, as_completed, get_worker

log = logging.getLogger("harvester_tracks")

FIELDS = 9
RASTER = 900  # cells per side of a field raster


class FieldShapes(WorkerPlugin):
    """Field boundaries as rasters, drawn once and kept on the worker."""

    name = "field-shapes"

    def setup(self, worker):
        self.cache = {}
        self.hits = 0

    def raster(self, field, stamp):
        key = (field, stamp)
        if key in self.cache:
            self.hits += 1
            return self.cache[key]
        rng = np.random.default_rng(field)
        centre = rng.uniform(0.35, 0.65, size=2)
        axis = np.linspace(0.0, 1.0, RASTER)
        self.cache[key] = np.hypot(
            axis[:, None] - centre[0], axis[None, :] - centre[1]
        ) * (1 + field / 50)
        return self.cache[key]

    def describe(self):
        size = sum(r.nbytes for r in list(self.cache.values())) / 1e6
        return f"{len(self.cache)} rasters, {size:.0f} MB, {self.hits} hits"


def write_tracks(folder, count):
    """Stand-in for the download from the machines."""
    rng = np.random.default_rng(20)
    for number in range(count):
        pd.DataFrame(
            {
                "stamp": pd.Timestamp("2026-08-01")
                + pd.to_timedelta(np.arange(200) + number * 311, unit="s"),
                "x": rng.uniform(0, 1, 200).round(5),
                "y": rng.uniform(0, 1, 200).round(5),
                "width": 7.6,
            }
        ).to_csv(folder / f"track_{number:03d}_field{number % FIELDS}.csv", index=False)


def snap_track(path):
    """Share of the track that lies inside its field, and the area mown there."""
    path = Path(path)
    track = pd.read_csv(path, parse_dates=["stamp"])
    field = int(path.stem.rsplit("field", 1)[1])
    shapes = get_worker().plugins[FieldShapes.name]
    raster = shapes.raster(field, track["stamp"].iloc[0])
    rows = (track["y"] * (RASTER - 1)).astype(int).to_numpy()
    cols = (track["x"] * (RASTER - 1)).astype(int).to_numpy()
    inside = raster[rows, cols] < 0.45
    time.sleep(0.8)  # elevation service, one call per track
    if len(shapes.cache) % 10 == 0:
        print(
            f"snap_track {path.name}: field shapes hold {shapes.describe()}", flush=True
        )
    return {
        "field": field,
        "inside": float(inside.mean()),
        "area": float(inside.sum() * 7.6),
    }


def parse_args():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tracks", type=int, default=160)
    parser.add_argument("--memory", default="330MB")
    return parser.parse_args()


def main():
    args = parse_args()
    logging.basicConfig(
        level=logging.INFO, format="%(asctime)s %(name)s %(levelname)s %(message)s"
    )
    dask.config.set(
        {
            # small inputs, small results: nothing worth spilling, and never wait on a paused worker
            "distributed.worker.memory.target": False,
            "distributed.worker.memory.spill": False,
            "distributed.worker.memory.pause": False,
            # a track that takes a worker down isn't worth a second try
            "distributed.scheduler.allowed-failures": 0,
        }
    )
    with tempfile.TemporaryDirectory(prefix="harvester-") as tmp:
        folder = Path(tmp) / "tracks"
        folder.mkdir()
        write_tracks(folder, args.tracks)
        with (
            LocalCluster(
                n_workers=1,
                threads_per_worker=2,
                memory_limit=args.memory,
                dashboard_address=":0",
                local_directory=tmp,
            ) as cluster,
            Client(cluster) as client,
        ):
            client.register_plugin(FieldShapes())
            paths = sorted(str(p) for p in folder.glob("*.csv"))
            log.info("%d tracks of %d fields", len(paths), FIELDS)
            futures = client.map(snap_track, paths, key="snap_track", pure=False)
            rows = []
            for future in as_completed(futures):
                rows.append(future.result())
                if len(rows) % 20 == 0:
                    log.info("%d of %d tracks", len(rows), len(paths))
            report = pd.DataFrame(rows).groupby("field")["area"].sum()
            log.info("area per field:\n%s", report.to_string())
    return 0


if __name__ == "__main__":
    sys.exit(main())
