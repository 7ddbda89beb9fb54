"""Loudness masters for an audiobook publisher: chapters are read, levelled and encoded, one file per title.

Encoding needs the licensed codec, of which every host has a fixed number of seats.
"""

import logging
import sys
from concurrent.futures import TimeoutError as FuturesTimeout

import numpy as np

import dask
from dask import delayed
from distributed import Client, LocalCluster, TimeoutError as DaskTimeout

log = logging.getLogger("masters")

HOSTS = {
    # per worker; seats are counted by the codec's vendor
    "small": {"n_workers": 2, "threads_per_worker": 1, "resources": {"codec": 1}},
    "night": {"n_workers": 2, "threads_per_worker": 2, "resources": {"codec": 1}},
}
SEATS_PER_TITLE = 2  # stereo since the catalogue of autumn
TITLES = {"moby": 5, "emma": 4, "dracula": 6}


@delayed
def read_chapter(title, number):
    rng = np.random.default_rng(len(title) * 100 + number)
    return rng.normal(0, 0.2, 100_000)


@delayed
def level(samples, target=0.1):
    rms = float(np.sqrt(np.mean(samples**2)))
    return samples * (target / rms)


@delayed
def encode_title(title, chapters):
    joined = np.concatenate(chapters)
    return title, (np.clip(joined, -1, 1) * 32767).astype("int16").nbytes


@delayed
def catalogue(entries):
    return {title: size for title, size in entries}


def plan():
    encoded = []
    for title, count in TITLES.items():
        chapters = [level(read_chapter(title, n)) for n in range(count)]
        with dask.annotate(resources={"codec": SEATS_PER_TITLE}):
            encoded.append(
                encode_title(title, chapters, dask_key_name=f"encode-{title}")
            )
    return catalogue(encoded)


def main(profile="small", patience=15):
    logging.basicConfig(
        level=logging.INFO, format="%(asctime)s %(levelname)s %(message)s"
    )
    options = HOSTS[profile]
    with LocalCluster(
        memory_limit="350MB", dashboard_address=None, **options
    ) as cluster:
        with Client(cluster) as client:
            preview = level(read_chapter("moby", 0)).compute()
            log.info(
                "preview of %d samples, peak %.2f", len(preview), abs(preview).max()
            )
            future = client.compute(plan(), optimize_graph=False)
            try:
                sizes = future.result(timeout=patience)
            except (FuturesTimeout, DaskTimeout):
                log.error("no catalogue after %d s, giving up for tonight", patience)
                future.cancel()
                return 4
            for title, size in sizes.items():
                log.info("%s: %.1f MB", title, size / 1e6)
    return 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:2]))
