"""Healthy jobs on arrays: reductions, linear algebra, stencils, images, simulations."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import dask
import dask.array as da
import numpy as np
from distributed import Client, wait
from workload_list import COMMANDS, IN_PROCESS, healthy, local

__all__ = ["make_images"]

Block = Any


def make_images(folder: Path) -> None:
    """Write the images that the jobs read, once."""
    folder = folder / "images"
    if (folder / "done").exists():
        return
    folder.mkdir(parents=True, exist_ok=True)
    random = np.random.default_rng(3)
    for n in range(24):
        np.save(folder / f"{n:02}.npy", random.random((1_000, 1_000)))
    (folder / "done").touch()


@healthy(set=1)
def mean_and_deviation(client: Client, data: Path) -> None:
    x = da.random.random((8_000, 8_000), chunks=(2_000, 2_000))
    dask.compute(x.mean(axis=0), x.std(axis=0), x.max())


@healthy(set=1, cluster=local(1, 2, "4GiB"))
def matrix_product(client: Client, data: Path) -> None:
    x = da.random.random((4_000, 4_000), chunks=(1_000, 1_000))
    (x @ x.T).trace().compute()


@healthy(set=1, cluster=local(2, 2, "3GiB"))
def tall_singular_values(client: Client, data: Path) -> None:
    x = da.random.random((240_000, 60), chunks=(30_000, 60))
    da.linalg.svd(x)[1].compute()


@healthy(set=1, cluster=COMMANDS)
def compressed_singular_values(client: Client, data: Path) -> None:
    x = da.random.random((5_000, 5_000), chunks=(1_250, 1_250))
    da.linalg.svd_compressed(x, k=10, seed=1)[1].compute()


@healthy(set=1, cluster=local(3))
def tall_qr(client: Client, data: Path) -> None:
    x = da.random.random((300_000, 50), chunks=(30_000, 50))
    q, r = da.linalg.qr(x)
    dask.compute(abs(q).sum(), r)


@healthy(set=1)
def rechunk_and_reduce(client: Client, data: Path) -> None:
    x = da.random.random((6_000, 6_000), chunks=(500, 6_000))
    x.rechunk((6_000, 500)).std(axis=0).sum().compute()


@healthy(set=1, cluster=local(1, 2, "4GiB"))
def sum_with_transpose(client: Client, data: Path) -> None:
    x = da.random.random((6_000, 6_000), chunks=(1_500, 1_500))
    (x + x.T).mean(axis=0).sum().compute()


@healthy(set=1, cluster=local(2, 2, "3GiB"))
def stencil(client: Client, data: Path) -> None:
    def smooth(block: Block) -> Block:
        for _ in range(6):
            block = (
                block
                + np.roll(block, 1, 0)
                + np.roll(block, -1, 0)
                + np.roll(block, 1, 1)
                + np.roll(block, -1, 1)
            ) / 5
        return block

    x = da.random.random((4_500, 4_500), chunks=(1_500, 1_500))
    x.map_overlap(smooth, depth=6, boundary="reflect").sum().compute()


@healthy(set=1, cluster=COMMANDS)
def climatology(client: Client, data: Path) -> None:
    """Anomalies from the mean of each month, over twenty years of a coarse globe."""
    years = da.random.random((240, 180, 720), chunks=(12, 180, 720))
    months = years.reshape((20, 12, 180, 720)).mean(axis=0)
    anomalies = years.reshape((20, 12, 180, 720)) - months[None]
    abs(anomalies).mean(axis=(0, 2, 3)).compute()


@healthy(set=1, cluster=local(3))
def histogram(client: Client, data: Path) -> None:
    x = da.random.normal(size=30_000_000, chunks=1_500_000)
    da.histogram(x, bins=200, range=(-5, 5))[0].compute()


@healthy(set=1, cluster=IN_PROCESS)
def spectra(client: Client, data: Path) -> None:
    x = da.random.random((400, 65_536), chunks=(40, 65_536))
    abs(da.fft.rfft(x, axis=1)).mean(axis=0).compute()


@healthy(set=1, cluster=local(1, 2, "4GiB"))
def quantiles(client: Client, data: Path) -> None:
    x = da.random.random(20_000_000, chunks=2_000_000)
    da.percentile(x, [1, 50, 99]).compute()


@healthy(set=1, cluster=local(2, 2, "3GiB"))
def pi_by_chance(client: Client, data: Path) -> None:
    x = da.random.random((40_000_000, 2), chunks=(4_000_000, 2))
    float(4 * ((x**2).sum(axis=1) < 1).mean())


@healthy(set=1, cluster=COMMANDS)
def random_walks(client: Client, data: Path) -> None:
    steps = da.random.normal(size=(20_000, 1_000), chunks=(2_000, 1_000))
    paths = 100 * da.exp((0.01 * steps).cumsum(axis=1))
    da.maximum(paths[:, -1] - 100, 0).mean().compute()


@healthy(set=1, cluster=local(3))
def stored(client: Client, data: Path) -> None:
    x = da.random.random((6_000, 4_000), chunks=(1_000, 4_000))
    da.to_npy_stack(str(data / "out-stack"), da.sqrt(x), axis=0)


@healthy(set=1)
def regression(client: Client, data: Path) -> None:
    x = da.random.random((1_500_000, 20), chunks=(150_000, 20))
    y = (x * np.arange(20)).sum(axis=1) + da.random.normal(
        size=1_500_000, chunks=150_000
    )
    xx, xy = dask.compute(x.T @ x, x.T @ y)
    np.linalg.solve(xx, xy)


@healthy(set=1, cluster=local(1, 2, "4GiB"))
def clusters_of_points(client: Client, data: Path) -> None:
    """Some rounds of k-means over points that are held."""
    points = da.random.random((1_000_000, 8), chunks=(100_000, 8)).persist()
    wait(points)
    centres = np.random.default_rng(0).random((12, 8))

    def sums(block: Block, centres: Block) -> Block:
        distances = ((block[:, None] - centres[None]) ** 2).sum(axis=2)
        nearest = distances.argmin(axis=1)
        counts = np.bincount(nearest, minlength=12)[:, None]
        totals = [np.bincount(nearest, block[:, n], minlength=12) for n in range(8)]
        return np.hstack([np.array(totals).T, counts])[None]

    for _ in range(4):
        parts = points.map_blocks(
            sums, centres, chunks=(1, 12, 9), new_axis=2, dtype=float
        )
        total = parts.sum(axis=0).compute()
        centres = total[:, :8] / np.maximum(total[:, 8:], 1)


@healthy(set=1, cluster=local(2, 2, "3GiB"))
def principal_components(client: Client, data: Path) -> None:
    x = da.random.random((800_000, 40), chunks=(80_000, 40))
    centred = x - x.mean(axis=0)
    covariance = (centred.T @ centred / len(x)).compute()
    np.linalg.eigh(covariance)


def _blurred(path: Path) -> Block:
    image = np.load(path)
    kernel = np.exp(-(np.linspace(-2, 2, 21) ** 2))
    for axis in (0, 1):
        image = np.apply_along_axis(np.convolve, axis, image, kernel, mode="same")
    return image


@healthy(set=1, cluster=COMMANDS, needs=make_images)
def images_in_bulk(client: Client, data: Path) -> None:
    """Read, blur and count, an image at a time."""
    paths = sorted((data / "images").glob("*.npy"))
    images = [dask.delayed(_blurred)(path) for path in paths]
    bright = [dask.delayed(lambda image: int((image > 55).sum()))(i) for i in images]
    dask.delayed(sum)(bright).compute()


@healthy(set=1, cluster=local(3), needs=make_images)
def images_stacked(client: Client, data: Path) -> None:
    paths = sorted((data / "images").glob("*.npy"))
    each = [
        da.from_delayed(dask.delayed(np.load)(path), (1_000, 1_000), float)
        for path in paths
    ]
    stack = da.stack(each)
    (stack - stack.mean(axis=0)).std(axis=(1, 2)).compute()


@healthy(set=1)
def masked_means(client: Client, data: Path) -> None:
    x = da.random.random((120, 360, 1_440), chunks=(12, 360, 1_440))
    da.ma.masked_less(x, 0.1).mean(axis=0).compute()
