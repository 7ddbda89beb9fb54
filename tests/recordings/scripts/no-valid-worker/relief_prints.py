"""Relief prints for the blind: meshing needs seats of the CAD licence, slicing does not."""

import time

import dask
import numpy as np
from dask import delayed
from dask.distributed import Client, LocalCluster

SHEETS = 14


@delayed
def heights(sheet):
    time.sleep(0.2)
    return np.random.default_rng(sheet).random((50, 50))


@delayed
def mesh(relief):
    time.sleep(0.2)
    return np.gradient(relief)


@delayed
def join_sheets(meshes):
    time.sleep(0.2)
    return [float(np.hypot(*slopes).max()) for slopes in meshes]


@delayed
def slice_layers(slopes):
    return [int(slope * 40) for slope in slopes]


def main():
    with LocalCluster(
        n_workers=2,
        threads_per_worker=1,
        memory_limit="400MB",
        dashboard_address=":0",
        resources={"SEAT": 2},
    ) as cluster:
        with Client(cluster) as client:
            client.wait_for_workers(2)
            reliefs = [heights(sheet) for sheet in range(SHEETS)]
            with dask.annotate(resources={"SEAT": 1}):
                meshes = client.persist(
                    [mesh(relief) for relief in reliefs], optimize_graph=False
                )
            print("meshed:", len(client.gather(client.compute(meshes))))
            with dask.annotate(resources={"SEAT": 3}):
                joined = client.persist(join_sheets(meshes), optimize_graph=False)
            layers = client.compute(slice_layers(joined), optimize_graph=False)
            print("layers:", layers.result(timeout=18))


if __name__ == "__main__":
    main()
