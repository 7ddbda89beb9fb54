"""k-mer spectra of the sequencing run; the reference is shipped inside the graph on purpose."""

import gc
import time

import dask
import numpy as np
from dask.distributed import Client, LocalCluster


def spectrum(reference, start):
    window = reference[start : start + 100_000]
    junk = [{"k": i, "v": [i]} for i in range(150_000)]
    del junk
    gc.collect()
    return np.bincount(window, minlength=4)


def main():
    reference = np.random.default_rng(1).integers(0, 4, 3_000_000)
    with LocalCluster(
        n_workers=2, threads_per_worker=1, memory_limit="900MiB", dashboard_address=":0"
    ) as cluster:
        with Client(cluster):
            spectra = [
                dask.delayed(spectrum)(reference, s)
                for s in range(0, 3_000_000, 300_000)
            ]
            t = time.time()
            total = dask.delayed(sum)(spectra).compute()
            print("spectrum", total.tolist(), "in", round(time.time() - t, 1), "s")


if __name__ == "__main__":
    main()
