"""Fuse lidar and radar sweeps."""

import time

import numpy as np
from dask.distributed import Client, LocalCluster


def read_sweep(kind, number):
    rng = np.random.default_rng(number)
    time.sleep(0.1)
    return rng.random((200, 3)) + (0.5 if kind == "lidar" else 0)


def fuse(lidar, radar):
    return float(np.linalg.norm(lidar.mean(0) - radar.mean(0)))


def main():
    with LocalCluster(
        n_workers=2, threads_per_worker=1, resources={"gpu": 1}, dashboard_address=None
    ) as cluster:
        with Client(cluster) as client:
            fused = []
            for n in range(8):
                lidar = client.submit(read_sweep, "lidar", n)
                radar = client.submit(read_sweep, "radar", n)
                fused.append(
                    client.submit(
                        fuse, lidar, radar, resources={"GPU": 1}, key=f"fuse-{n}"
                    )
                )
            print([round(f.result(timeout=7), 4) for f in fused])


if __name__ == "__main__":
    main()
