import dask
import numpy as np
from dask.distributed import Client, LocalCluster


def read_slice(k):
    return np.random.default_rng(k).integers(0, 4096, (512, 512), dtype="i2")


def reconstruct(slices):
    volume = np.stack(slices).astype("f8")
    padded = [np.pad(volume, 64 * k, mode="constant") for k in range(1, 5)]
    spectrum = [np.abs(np.fft.rfftn(p)) for p in padded]
    return float(sum(s.mean() for s in spectrum))


def main():
    dask.config.set({"distributed.scheduler.allowed-failures": 1})
    with LocalCluster(
        n_workers=2, threads_per_worker=1, memory_limit="420MiB", dashboard_address=None
    ) as cluster:
        with Client(cluster) as client:
            slices = client.map(read_slice, range(48))
            intensity = client.submit(reconstruct, slices)
            print("mean intensity", intensity.result())


if __name__ == "__main__":
    main()
