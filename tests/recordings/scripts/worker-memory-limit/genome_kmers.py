"""k-mer spectrum of sequencing reads, one task per lane."""

import numpy as np
from dask.distributed import Client, LocalCluster

LANES = {"L1": 11, "L2": 11, "L3": 14, "L4": 11}


def read_lane(lane, n=60_000):
    rng = np.random.default_rng(sum(map(ord, lane)))
    return rng.integers(0, 4, n, dtype="uint8")


def spectrum(reads, k):
    counts = np.ones(4**k, dtype="float64")
    weights = 4 ** np.arange(k, dtype="int64")
    windows = np.lib.stride_tricks.sliding_window_view(reads, k)
    codes = windows.astype("int64") @ weights
    np.add.at(counts, codes, 1.0)
    return np.histogram(counts, bins=16)[0]


def similarity(spectra):
    stacked = np.vstack(spectra).astype("float64")
    stacked /= np.linalg.norm(stacked, axis=1, keepdims=True)
    return stacked @ stacked.T


def main():
    with (
        LocalCluster(
            n_workers=2,
            threads_per_worker=1,
            memory_limit="400MiB",
            dashboard_address=None,
        ) as cluster,
        Client(cluster) as client,
    ):
        reads = {lane: client.submit(read_lane, lane) for lane in LANES}
        spectra = [client.submit(spectrum, reads[lane], k) for lane, k in LANES.items()]
        matrix = client.submit(similarity, spectra).result()
        print(matrix.round(3))


if __name__ == "__main__":
    main()
