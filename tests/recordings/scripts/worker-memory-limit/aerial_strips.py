"""Stitches the strips of last night's survey flight into one ortho mosaic per block."""

import time

import dask
import numpy as np
from dask.distributed import Client, LocalCluster, progress

dask.config.set({"distributed.scheduler.allowed-failures": 1})

BLOCKS = {"north": 6, "river": 8, "quarry": 90, "town": 7}


def read_strip(block, number):
    """One strip: 8 MB of pixels."""
    rng = np.random.default_rng(number)
    strip = rng.integers(0, 255, (2000, 4000), dtype="uint8")
    time.sleep(0.08)
    return strip


def stitch_block(block, strips):
    pieces = []
    for number in range(strips):
        pieces.append(read_strip(block, number))
    shift = [int(piece[0, :50].mean()) for piece in pieces]
    mosaic = np.zeros((2000, 4000), dtype="float32")
    for piece, offset in zip(pieces, shift):
        mosaic += np.roll(piece, offset % 7, axis=1)
    return block, float(mosaic.mean() / strips)


def check_block(block, strips):
    first = read_strip(block, 0)
    return block, strips, float(first.mean())


def main():
    with LocalCluster(
        n_workers=2, threads_per_worker=1, memory_limit="500MB", dashboard_address=":0"
    ) as cluster:
        with Client(cluster) as client:
            checks = client.map(check_block, list(BLOCKS), list(BLOCKS.values()))
            for block, strips, brightness in client.gather(checks):
                print(f"{block}: {strips} strips, brightness {brightness:.1f}")
            mosaics = [
                client.submit(stitch_block, block, strips, key=f"stitch_block-{block}")
                for block, strips in BLOCKS.items()
            ]
            for block, mean in client.gather(mosaics):
                print(f"{block}: mosaic mean {mean:.2f}")
            print("delivered")


if __name__ == "__main__":
    main()
