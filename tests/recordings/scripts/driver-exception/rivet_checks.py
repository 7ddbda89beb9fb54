"""Checks of the rivet statistics before a release; run by the pipeline as a script."""

import sys

import dask.array as da
import numpy as np
import pytest
from dask.distributed import Client, LocalCluster


def rivet_pitch(positions):
    return da.diff(positions)


def reject_share(pitch, nominal=25.0, tolerance=0.4):
    off = da.fabs(pitch - nominal) > tolerance
    return off.mean()


@pytest.fixture(scope="module")
def client():
    with LocalCluster(
        n_workers=2, threads_per_worker=1, memory_limit="400MiB", dashboard_address=":0"
    ) as cluster:
        with Client(cluster) as c:
            yield c


def seam(n, sigma):
    rng = np.random.default_rng(8)
    return da.from_array(np.cumsum(25.0 + rng.normal(0, sigma, n)), chunks=500)


def test_pitch_length(client):
    assert rivet_pitch(seam(2000, 0.1)).compute().shape == (1999,)


def test_reject_share_good_seam(client):
    share = reject_share(rivet_pitch(seam(2000, 0.1))).compute()
    assert share < 0.01


def test_reject_share_bad_seam(client):
    share = reject_share(rivet_pitch(seam(2000, 0.3)), tolerance=0.8).compute()
    assert share > 0.1


if __name__ == "__main__":
    sys.exit(pytest.main([__file__, "-q", "-p", "no:cacheprovider"]))
