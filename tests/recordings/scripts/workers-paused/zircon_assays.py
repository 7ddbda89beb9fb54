"""Zircon assays: keeps the spectra of a whole drilling campaign on the cluster and then fits them, hole by hole.

The disks of the new machines are slow, so the platform team turned spilling off in October; and since
restarts lost the persisted campaign twice, the nannies are not to end workers either."""

import datetime
import sys

import dask
import dask.array as da
import numpy as np
from dask.distributed import Client, LocalCluster, wait

PLATFORM = {
    "distributed.worker.memory.target": False,
    "distributed.worker.memory.spill": False,
    "distributed.worker.memory.pause": 0.75,
    "distributed.worker.memory.terminate": False,
}
HOLES = 24
CHANNELS = 2048
SAMPLES = 2500


def read_hole(block_info=None):
    """Spectra of one drill hole, as the spectrometer would send them."""
    place = block_info[None]
    hole = place["chunk-location"][0]
    rng = np.random.default_rng(hole)
    return rng.normal(100.0, 9.0, place["chunk-shape"])


def baseline(spectra):
    return spectra - np.median(spectra, axis=1, keepdims=True)


def campaign(holes):
    raw = da.map_blocks(
        read_hole,
        chunks=((SAMPLES,) * holes, (CHANNELS,)),
        dtype="float64",
        meta=np.empty((0, 0)),
    )
    return raw.map_blocks(baseline, dtype="float64")


def peak_table(spectra):
    band = spectra[:, 800:860]
    return da.stack([band.max(axis=1), band.mean(axis=1)], axis=1)


def say(*words):
    print(
        datetime.datetime.now().strftime("%H:%M:%S"),
        *words,
        file=sys.stderr,
        flush=True,
    )


def trial(client):
    """Two holes first, to see that the spectrometer's format has not changed."""
    table = peak_table(campaign(2)).compute()
    assert table.shape == (2 * SAMPLES, 2)
    say("trial of two holes:", table.mean().round(2))


def main():
    with dask.config.set(PLATFORM):
        cluster = LocalCluster(
            n_workers=2,
            threads_per_worker=1,
            memory_limit="420MB",
            dashboard_address=None,
        )
        client = Client(cluster)
        try:
            trial(client)
            spectra = campaign(HOLES).persist()
            say("loading", HOLES, "holes")
            wait(spectra, timeout=18)
            table = peak_table(spectra).compute()
            np.save("peaks.npy", table)
            say("fitted", len(table), "spectra")
        finally:
            say("closing the session")
            client.close()
            cluster.close()


if __name__ == "__main__":
    main()
