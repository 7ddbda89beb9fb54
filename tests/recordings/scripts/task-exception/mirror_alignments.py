"""Acceptance checks of the mirror alignment code, run on a small cluster.

python mirror_alignments.py            # all checks
python mirror_alignments.py -k tilt    # some
"""

import os
import sys

import dask.array as da
import numpy as np
import pytest
from dask.distributed import Client, LocalCluster

SHAPE = (120, 160)
CHUNKS = (40, 40)


@pytest.fixture(scope="session")
def client():
    with LocalCluster(
        n_workers=2, threads_per_worker=1, memory_limit="300MiB", dashboard_address=":0"
    ) as cluster:
        with Client(cluster) as client:
            yield client


@pytest.fixture(scope="session")
def surface(client):
    """Height map of a slightly tilted mirror."""

    def heights(block_info=None):
        (y0, y1), (x0, x1) = block_info[None]["array-location"]
        y, x = np.mgrid[y0:y1, x0:x1]
        return 0.002 * x - 0.001 * y + 1e-4 * np.sin(x / 9.0)

    return da.map_blocks(heights, chunks=((40,) * 3, (40,) * 4), dtype=float)


def remove_piston(block):
    return block - block.mean()


def slope_x(block):
    """Slope between neighbouring columns."""
    return np.diff(block, axis=1)


def slope_y(block):
    return np.gradient(block, axis=0)


def tilt(surface):
    sx = surface.map_blocks(slope_x, dtype=float)
    sy = surface.map_blocks(slope_y, dtype=float)
    return sx, sy


def rms(array):
    return da.sqrt((array**2).mean())


def test_shape(surface):
    assert surface.shape == SHAPE
    assert surface.compute().shape == SHAPE


def test_piston_is_removed_per_tile(surface):
    flat = surface.map_blocks(remove_piston, dtype=float)
    means = flat.map_blocks(
        lambda b: np.array([[b.mean()]]), chunks=(1, 1), dtype=float
    )
    assert np.abs(means.compute()).max() < 1e-9


def test_rms_of_surface(surface):
    assert 0 < float(rms(surface - surface.mean()).compute()) < 1


def test_tilt_directions(surface):
    sx, sy = tilt(surface)
    assert float(sy.mean().compute()) < 0
    assert sx.shape == SHAPE


def test_tilt_magnitude(surface):
    sx, sy = tilt(surface)
    magnitude = da.hypot(sx, sy)
    worst = float(magnitude.max().compute())
    assert worst == pytest.approx(0.00225, rel=0.05)


def test_actuator_forces(surface):
    stiffness = da.ones(SHAPE, chunks=CHUNKS) * 3.5
    forces = (surface - surface.mean()) * stiffness
    assert np.isfinite(forces.sum().compute())


if __name__ == "__main__":
    os.environ["PYTHONDONTWRITEBYTECODE"] = "1"
    sys.dont_write_bytecode = True
    sys.exit(pytest.main([__file__, "-q", "-p", "no:cacheprovider", *sys.argv[1:]]))
