"""Build the monthly mean temperature from the daily station archive."""

import os
import tempfile
import threading
import time

import dask.dataframe as dd
import numpy as np
import pandas as pd
from dask.distributed import Client, LocalCluster


def seed_archive(root):
    rng = np.random.default_rng(8)
    for day in range(1, 25):
        frame = pd.DataFrame(
            {"station": rng.integers(0, 60, 2000), "temp": rng.normal(9, 5, 2000)}
        )
        path = os.path.join(root, f"2026-10-{day:02d}.parquet")
        frame.to_parquet(path)
        age = time.time() - (40 - day) * 86400
        os.utime(path, (age, age))


def housekeeping(root, keep_days, stop):
    """Free the scratch area; runs next to the job."""
    while not stop.wait(1.0):
        limit = time.time() - keep_days * 86400
        for name in sorted(os.listdir(root)):
            path = os.path.join(root, name)
            if os.path.getmtime(path) < limit:
                os.remove(path)


def smooth(frame):
    time.sleep(0.5)
    frame = frame.copy()
    frame["temp"] = frame["temp"].rolling(5, min_periods=1).mean()
    return frame


def main():
    with tempfile.TemporaryDirectory() as root:
        seed_archive(root)
        stop = threading.Event()
        with (
            LocalCluster(
                n_workers=2, threads_per_worker=1, dashboard_address=None
            ) as cluster,
            Client(cluster),
        ):
            archive = dd.read_parquet(os.path.join(root, "*.parquet"))
            cleaner = threading.Thread(
                target=housekeeping, args=(root, 30, stop), daemon=True
            )
            cleaner.start()
            monthly = archive.map_partitions(smooth).groupby("station")["temp"].mean()
            time.sleep(1.5)
            try:
                result = monthly.compute()
            finally:
                stop.set()
            print(result.describe())


if __name__ == "__main__":
    main()
