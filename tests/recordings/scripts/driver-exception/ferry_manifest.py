"""Nightly acceptance run of the ferry manifests (pytest job)."""

import os
import sys
import tempfile
import textwrap

import pytest

SUITE = textwrap.dedent("""
    import pytest
    from dask.distributed import Client, LocalCluster

    SAILINGS = {"0600": (210, 40), "0930": (315, 66), "1300": (298, 71), "1830": (402, 80)}
    BOOKED = {"0600": 250, "0930": 381, "1300": 369, "1830": 492}


    def boarded(sailing):
        foot, cars = SAILINGS[sailing]
        return foot + cars


    @pytest.fixture(scope="module")
    def client():
        with LocalCluster(n_workers=1, threads_per_worker=2, processes=False, dashboard_address=":0") as cluster:
            with Client(cluster) as c:
                yield c


    def test_all_sailings_counted(client):
        assert len(client.gather(client.map(boarded, list(SAILINGS)))) == 4


    @pytest.mark.parametrize("sailing", sorted(SAILINGS))
    def test_boarded_equals_booked(client, sailing):
        assert client.submit(boarded, sailing).result() == BOOKED[sailing]


    def test_unknown_sailing_is_refused(client):
        with pytest.raises(KeyError):
            client.submit(boarded, "2359").result()
""")


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "test_manifest.py")
        with open(path, "w") as f:
            f.write(SUITE)
        rc = pytest.main(["-q", "-p", "no:cacheprovider", path])
    sys.exit(int(rc))
