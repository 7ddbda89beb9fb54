"""Least-squares site corrections for each seismic station."""

import numpy as np
import dask.array as da
from dask.distributed import Client, LocalCluster

STATIONS = 24


def observations():
    rng = np.random.default_rng(1906)
    obs = rng.normal(size=(STATIONS, 40, 6))
    obs[17, :, 4] = 0.0  # a dead channel
    return obs


def site_terms(block):
    out = np.empty(block.shape[:1] + block.shape[2:])
    for i, a in enumerate(block):
        out[i] = np.linalg.inv(a.T @ a) @ a.T @ np.ones(len(a))
    return out


class Corrections:
    def __init__(self, client):
        self.client = client
        self.cube = da.from_array(observations(), chunks=(4, 40, 6))

    def run(self):
        terms = self.cube.map_blocks(
            site_terms,
            drop_axis=1,
            chunks=(4, 6),
            dtype=float,
            meta=np.empty((0, 0)),
        )
        return terms.mean(axis=0).compute()


if __name__ == "__main__":
    with (
        LocalCluster(
            n_workers=1, threads_per_worker=2, processes=True, dashboard_address=":0"
        ) as cluster,
        Client(cluster) as client,
    ):
        print(Corrections(client).run())
