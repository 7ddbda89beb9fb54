"""Averages months of measurements, with all files of a station open at once."""

import os
import resource
import tempfile

import numpy as np
from dask.distributed import Client, LocalCluster


def station_mean(folder, station):
    paths = [os.path.join(folder, name) for name in sorted(os.listdir(folder))]
    files = [open(path, "rb") for path in paths]
    months = [np.frombuffer(file.read()) for file in files]
    return float(np.mean(months)) + station


def usual_limit():
    resource.setrlimit(resource.RLIMIT_NOFILE, (256, 256))


if __name__ == "__main__":
    folder = tempfile.mkdtemp(prefix="months-")
    for month in range(400):
        np.full(10, month, dtype=float).tofile(os.path.join(folder, f"{month:03}.bin"))
    with (
        LocalCluster(
            n_workers=2, threads_per_worker=1, dashboard_address=":0"
        ) as cluster,
        Client(cluster) as client,
    ):
        client.run(usual_limit)
        print(client.gather(client.map(station_mean, [folder] * 4, range(4))))
