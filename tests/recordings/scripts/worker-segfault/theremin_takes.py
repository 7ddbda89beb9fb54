"""Loudness report of the studio's theremin takes.

The takes lie in a mirror of the studio's recorder.  Reading is done through
memory maps, so a worker never holds more than a block of a take.  The mirror
follows the recorder: new versions of a take are fetched while we work.
"""

import argparse
import logging
import sys
import tempfile
import threading
import time
from pathlib import Path

import dask
import numpy as np
from distributed import Client, LocalCluster, as_completed

log = logging.getLogger("takes")

BLOCK = 32 * 1024  # samples
BLOCKS_PER_TAKE = 60
SAMPLE = np.dtype("<i2")


class Mirror(threading.Thread):
    """Fetches the takes again that were retouched on the recorder."""

    def __init__(self, folder, after):
        super().__init__(name="mirror", daemon=True)
        self.folder = Path(folder)
        self.after = after
        self.quit = threading.Event()

    def run(self):
        if self.quit.wait(self.after):
            return
        for path in sorted(self.folder.glob("*.raw")):
            log.info("mirror: %s was retouched, fetching it", path.name)
            with open(path, "wb") as out:
                for block in recorder_blocks(path.stem, version=2):
                    out.write(block.tobytes())
                    out.flush()
                    if self.quit.wait(0.3):  # the line to the studio is slow
                        return


def recorder_blocks(take, version=1):
    rng = np.random.default_rng(sum(map(ord, take)) + version)
    for _ in range(BLOCKS_PER_TAKE):
        yield rng.integers(-9000, 9000, BLOCK).astype(SAMPLE)


def first_fetch(folder, count):
    paths = []
    for n in range(1, count + 1):
        path = Path(folder) / f"take_{n:02d}.raw"
        with open(path, "wb") as out:
            for block in recorder_blocks(path.stem):
                out.write(block.tobytes())
        paths.append(str(path))
    return paths


def check_length(path):
    size = Path(path).stat().st_size
    expected = BLOCKS_PER_TAKE * BLOCK * SAMPLE.itemsize
    if size != expected:
        raise ValueError(f"{path}: {size} bytes, expected {expected}")
    return size


def loudness_of_take(path):
    samples = np.memmap(path, dtype=SAMPLE, mode="r")
    loudest = 0.0
    for first in range(0, len(samples), BLOCK):
        block = samples[first : first + BLOCK].astype("f4")
        loudest = max(loudest, float(np.sqrt((block**2).mean())))
        time.sleep(0.2)  # weighting filter
    return Path(path).stem, 20 * np.log10(loudest / 32768)


def report(client, paths):
    sizes = client.gather(client.map(check_length, paths))
    log.info("%d takes, %.1f MB", len(sizes), sum(sizes) / 1e6)
    futures = [
        client.submit(loudness_of_take, p, key=f"loudness_of_take-{Path(p).stem}")
        for p in paths
    ]
    for future in as_completed(futures):
        take, level = future.result()
        log.info("%s: %.1f dBFS", take, level)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--takes", type=int, default=6)
    parser.add_argument("--mirror-after", type=float, default=7.0)
    args = parser.parse_args()
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(name)s %(message)s")
    dask.config.set(
        {
            "distributed.scheduler.allowed-failures": 0,  # a lost worker ends the night
            "distributed.scheduler.worker-saturation": 1.0,
        }
    )
    with tempfile.TemporaryDirectory(prefix="takes-") as folder:
        paths = first_fetch(folder, args.takes)
        with (
            LocalCluster(
                n_workers=2,
                threads_per_worker=1,
                memory_limit="280MiB",
                dashboard_address="127.0.0.1:0",
                local_directory=folder,
            ) as cluster,
            Client(cluster) as client,
        ):
            client.wait_for_workers(2, timeout=60)
            mirror = Mirror(folder, args.mirror_after)
            mirror.start()
            try:
                report(client, paths)
            finally:
                mirror.quit.set()
                mirror.join(10)
    log.info("report complete")
    return 0


if __name__ == "__main__":
    sys.exit(main())
