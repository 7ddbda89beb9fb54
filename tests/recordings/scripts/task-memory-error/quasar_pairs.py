"""Pair separations of quasars per survey field, for the clustering estimate."""

import logging
import tempfile
from pathlib import Path

import numpy as np
from dask.distributed import Client, LocalCluster

log = logging.getLogger("quasar")
FIELDS = {"n01": 900, "n02": 1400, "s07": 700, "stripe82": 1_300_000, "s11": 1100}


def survey(folder):
    rng = np.random.default_rng(82)
    for field, sources in FIELDS.items():
        np.save(
            folder / f"{field}.npy",
            np.radians(
                np.column_stack(
                    [rng.uniform(10, 12, sources), rng.uniform(-1, 1, sources)]
                )
            ),
        )


def load_field(path):
    return np.load(path)


def separations(sky):
    ra, dec = sky.T
    d_ra = (ra[:, None] - ra[None, :]) * np.cos(dec)[:, None]
    d_dec = dec[:, None] - dec[None, :]
    return np.hypot(d_ra, d_dec)


def pair_histogram(path, bins):
    apart = separations(load_field(path))
    counts, _ = np.histogram(apart[np.triu_indices_from(apart, 1)], bins=bins)
    return Path(path).stem, counts


def main():
    logging.basicConfig(
        level=logging.INFO, format="%(asctime)s %(name)s %(levelname)s %(message)s"
    )
    bins = np.radians(np.geomspace(0.001, 2, 24))
    with tempfile.TemporaryDirectory() as tmp:
        folder = Path(tmp)
        survey(folder)
        with (
            LocalCluster(
                n_workers=1,
                threads_per_worker=2,
                memory_limit="900MiB",
                dashboard_address=":0",
            ) as cluster,
            Client(cluster) as client,
        ):
            paths = [str(folder / f"{field}.npy") for field in FIELDS]
            work = client.map(pair_histogram, paths, bins=bins)
            total = np.zeros(len(bins) - 1, dtype="i8")
            for field, counts in client.gather(work):
                log.info("%s: %d pairs", field, counts.sum())
                total += counts
        log.info(
            "pairs closest to a tenth of a degree: %d",
            total[np.searchsorted(bins, np.radians(0.1)) - 1],
        )


if __name__ == "__main__":
    main()
