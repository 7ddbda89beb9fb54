"""Render map tiles; register each finished tile, then publish the index."""

import threading

import numpy as np
from dask.distributed import Client, LocalCluster

ZOOM_DIR = {"z1": "overview", "z2": "district", "z3": "street"}
index = {}
index_complete = threading.Event()
expected = 0


def render(tile):
    zoom, x, y = tile
    rng = np.random.default_rng(x * 31 + y)
    image = rng.integers(0, 255, (128, 128, 3), dtype="uint8")
    return {"tile": tile, "mean": float(image.mean()), "bytes": image.nbytes}


def on_tile(future):
    result = future.result()
    zoom, x, y = result["tile"]
    folder = ZOOM_DIR[zoom]
    index[f"{folder}/{x}_{y}.png"] = result["bytes"]
    if len(index) == expected:
        index_complete.set()


def publish(entries):
    total = sum(entries.values())
    print(f"published {len(entries)} tiles, {total / 1e6:.1f} MB")


def main():
    global expected
    tiles = [
        (z, x, y) for z in ("z1", "z2", "z3", "z4") for x in range(3) for y in range(3)
    ]
    expected = len(tiles)
    with (
        LocalCluster(
            n_workers=2, threads_per_worker=1, dashboard_address=None
        ) as cluster,
        Client(cluster) as client,
    ):
        futures = client.map(render, tiles)
        for future in futures:
            future.add_done_callback(on_tile)
        if not index_complete.wait(timeout=12):
            raise TimeoutError(
                f"tiles not finished in time: {len(index)} of {expected} registered"
            )
        publish(index)


if __name__ == "__main__":
    main()
