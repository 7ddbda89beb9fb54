"""Write filtered seismic traces per station to the shared area."""

import os
import resource
import tempfile

import numpy as np
from dask.distributed import Client, LocalCluster


def area_quota(megabytes):
    size = megabytes * 2**20
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, resource.RLIM_INFINITY))


def trace(station):
    rng = np.random.default_rng(station)
    hours = 24 if station != 5 else 96
    return rng.normal(size=hours * 3600 * 10)


def bandpass(samples):
    kernel = np.hanning(9) / np.hanning(9).sum()
    return np.convolve(samples, kernel, mode="same")


def export(root, station, samples):
    path = os.path.join(root, f"st{station:02d}.npy")
    try:
        np.save(path, samples)
    except OSError as err:
        print("export problem", station, err)
    return path


def picks(path):
    samples = np.load(path)
    return int((np.abs(samples) > 1.6).sum())


def main():
    with tempfile.TemporaryDirectory() as root:
        with (
            LocalCluster(
                n_workers=2, threads_per_worker=1, dashboard_address=None
            ) as cluster,
            Client(cluster) as client,
        ):
            client.run(area_quota, 12)
            files = []
            for station in range(8):
                samples = client.submit(bandpass, client.submit(trace, station))
                files.append(client.submit(export, root, station, samples))
            counts = client.gather(client.map(picks, files))
            print("picks", counts)


if __name__ == "__main__":
    main()
