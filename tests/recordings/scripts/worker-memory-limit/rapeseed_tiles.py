"""Flowering of rapeseed from satellite tiles.

Tiles of the season are decoded and kept, the flowering index of every tile is compared with the season's mean.
The nodes' scratch is shared with other jobs, and the site's tidy-up runs while jobs do.
"""

import shutil
import subprocess
import sys
import tempfile
import textwrap
import time
from pathlib import Path

import dask
import numpy as np
from dask.distributed import Client, LocalCluster, wait

TIDY_UP = textwrap.dedent(
    """
    import shutil, sys, time
    from pathlib import Path

    scratch, age = Path(sys.argv[1]), float(sys.argv[2])
    while True:
        for folder in scratch.iterdir():
            if time.time() - folder.stat().st_mtime > age:
                shutil.rmtree(folder, ignore_errors=True)
        time.sleep(0.5)
    """
)


def decode_tile(tile, week):
    """Two bands of a tile, 16 MB each."""
    rng = np.random.default_rng([tile, week])
    yellow = rng.random((1400, 1400))
    green = rng.random((1400, 1400)) * 0.8
    time.sleep(0.2)
    return np.stack([yellow, green])


def flowering(bands):
    yellow, green = bands
    return (yellow - green) / (yellow + green + 1e-6)


def anomaly(bands, mean):
    return float((flowering(bands) - mean).std())


class Season:
    def __init__(self, client, tiles, weeks):
        self.client = client
        self.keys = [(t, w) for w in range(weeks) for t in range(tiles)]

    def run(self):
        c = self.client
        bands = [
            c.submit(decode_tile, t, w, key=f"decode_tile-{t}-{w}")
            for t, w in self.keys
        ]
        wait(bands, timeout=40)
        means = [
            c.submit(
                lambda b: float(flowering(b).mean()), b, key=f"flowering-{k[0]}-{k[1]}"
            )
            for k, b in zip(self.keys, bands)
        ]
        mean = float(np.mean(c.gather(means)))
        odd = c.map(anomaly, bands, mean=mean)
        return mean, c.gather(odd)


def main():
    scratch = Path(tempfile.mkdtemp(prefix="scratch-"))
    settings = {
        "distributed.scheduler.allowed-failures": 0,
        "distributed.worker.memory.target": 0.5,
        "distributed.worker.memory.spill": 0.6,
        "distributed.worker.memory.pause": False,
    }
    sweeper = subprocess.Popen([sys.executable, "-c", TIDY_UP, str(scratch), "3"])
    try:
        with (
            dask.config.set(settings),
            LocalCluster(
                n_workers=2,
                threads_per_worker=1,
                memory_limit="350MB",
                dashboard_address=":0",
                local_directory=str(scratch),
            ) as cluster,
            Client(cluster) as client,
        ):
            mean, odd = Season(client, tiles=6, weeks=5).run()
            print(f"mean index {mean:.3f}, oddest tile {max(odd):.3f}")
    finally:
        sweeper.terminate()
        sweeper.wait()
        shutil.rmtree(scratch, ignore_errors=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
