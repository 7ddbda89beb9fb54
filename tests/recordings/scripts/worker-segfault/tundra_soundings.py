import os
import tempfile
from pathlib import Path

import dask
import numpy as np
from dask.distributed import Client

dask.config.set({"distributed.scheduler.allowed-failures": 0})


def open_soundings(path):
    return np.memmap(path, dtype="f8", mode="r")


def keep_newest(path, soundings, count):
    """The file of the station keeps the newest soundings only."""
    newest = np.array(soundings[-count:])
    with open(path, "r+b") as out:
        out.write(newest.tobytes())
        out.truncate()
    return os.path.getsize(path)


def profile(soundings, size):
    return float(np.sqrt((soundings * soundings).mean())), size


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        path = str(Path(folder) / "station.f8")
        np.random.default_rng(3).normal(size=2_000_000).tofile(path)
        with Client(
            n_workers=1, threads_per_worker=1, dashboard_address=None
        ) as client:
            soundings = client.submit(open_soundings, path)
            size = client.submit(keep_newest, path, soundings, 1000)
            print("kept bytes:", size.result())
            print(
                "profile:", client.submit(profile, soundings, size).result(timeout=40)
            )
