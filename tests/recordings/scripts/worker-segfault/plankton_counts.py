"""Counts plankton on the plates of a research cruise."""

import logging
import sys
import tempfile
from pathlib import Path

import dask
import numpy as np
from dask.distributed import Client, LocalCluster, as_completed

logging.basicConfig(
    level=logging.INFO, format="%(asctime)s %(levelname)s %(name)s %(message)s"
)
log = logging.getLogger("plankton")

PLATES = 10


def write_plates(folder):
    rng = np.random.default_rng(8)
    for n in range(PLATES):
        pixels = rng.integers(0, 255, size=(240, 320), dtype=np.uint8)
        header = np.array([240, 320, 16], dtype=np.int64)
        if n == 6:
            header[:] = (240_000, 320_000, 16)
        with open(folder / f"plate-{n:02d}.raw", "wb") as sink:
            sink.write(header.tobytes())
            sink.write(pixels.tobytes())


def windows(path):
    """View of the plate as a grid of square windows, without copies."""
    raw = Path(path).read_bytes()
    height, width, side = (int(v) for v in np.frombuffer(raw, dtype=np.int64, count=3))
    pixels = np.frombuffer(raw, dtype=np.uint8, offset=24)
    return np.lib.stride_tricks.as_strided(
        pixels,
        shape=(height // side, width // side, side, side),
        strides=(width * side, side, width, 1),
    )


def count_cells(path, thresholds):
    grid = windows(path)
    total = 0
    for row in grid:
        means = row.mean(axis=(1, 2))
        total += int((means[:, None] > thresholds[None, :]).sum())
    return total


def run_plates(client, paths, thresholds):
    futures = {
        client.submit(count_cells, p, thresholds, key=f"count_cells-{Path(p).stem}"): p
        for p in paths
    }
    counts, open_plates = {}, []
    for future in as_completed(futures):
        if future.status == "finished":
            counts[futures[future]] = future.result()
        else:
            open_plates.append(futures[future])
    return counts, open_plates


def main():
    with (
        dask.config.set({"distributed.scheduler.allowed-failures": 0}),
        tempfile.TemporaryDirectory(prefix="plankton-") as tmp,
    ):
        folder = Path(tmp)
        write_plates(folder)
        paths = [str(p) for p in sorted(folder.glob("*.raw"))]
        with (
            LocalCluster(
                n_workers=2,
                threads_per_worker=1,
                dashboard_address=":0",
                memory_limit="400MB",
            ) as cluster,
            Client(cluster) as client,
        ):
            client.wait_for_workers(2, timeout=60)
            thresholds = client.scatter(np.linspace(120, 136, 50), broadcast=True)
            counts, open_plates = run_plates(client, paths, thresholds)
            log.info("%d plates counted, %d to do again", len(counts), len(open_plates))
            if open_plates:
                client.restart(timeout=60)
                again = client.map(count_cells, open_plates, thresholds=thresholds)
                for path, total in zip(open_plates, client.gather(again)):
                    counts[path] = total
            log.info("cells: %s", sum(counts.values()))
    return 0


if __name__ == "__main__":
    sys.exit(main())
