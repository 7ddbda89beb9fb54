"""Least squares position fixes from star altitudes, blockwise."""

import dask.array as da
import numpy as np
from dask.distributed import Client, LocalCluster


def observations(n, stars=4):
    rng = np.random.default_rng(11)
    azimuth = rng.uniform(0, 2 * np.pi, (n, stars))
    azimuth[2750:2753] = azimuth[2750:2753, :1]  # the same star entered four times
    intercept = rng.normal(0, 2.0, (n, stars))
    return azimuth, intercept


def solve_fix(azimuth, intercept):
    fixes = np.empty((azimuth.shape[0], 2))
    for i, (az, p) in enumerate(zip(azimuth, intercept)):
        design = np.column_stack([np.cos(az), np.sin(az)])
        normal = np.round(design.T @ design, 9)
        if abs(np.linalg.det(normal)) < 1e-6:
            normal = np.zeros_like(normal)
        fixes[i] = np.linalg.inv(normal) @ (design.T @ p)
    return fixes


def main():
    az, p = observations(6000)
    with LocalCluster(
        n_workers=2, threads_per_worker=1, memory_limit="400MiB", dashboard_address=":0"
    ) as cluster:
        with Client(cluster):
            azimuth = da.from_array(az, chunks=(500, 4))
            intercept = da.from_array(p, chunks=(500, 4))
            fixes = da.map_blocks(
                solve_fix, azimuth, intercept, dtype=float, chunks=((500,) * 12, (2,))
            )
            spread = da.sqrt((fixes**2).sum(axis=1)).mean()
            print("mean distance", float(spread.compute()))


if __name__ == "__main__":
    main()
