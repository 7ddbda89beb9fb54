"""Writes hourly weir levels to the export folder as parquet, one file a weir."""

import os
import tempfile
import time

import numpy as np
import pandas as pd
from dask.distributed import Client, LocalCluster

WEIRS = ["alte_muehle", "brueckenwehr", "kanalkopf", "oberwehr", "stadtwehr"]


def hourly(weir, raw):
    frame = pd.DataFrame({"level": raw}).groupby(np.arange(len(raw)) // 60).mean()
    frame["weir"] = weir
    return frame


def export(frame, folder):
    weir = frame["weir"].iloc[0]
    path = os.path.join(folder, f"{weir}.csv")
    time.sleep(0.2)
    with open(path, "w") as f:
        frame.to_csv(f)
        f.flush()
    return path


def main():
    with tempfile.TemporaryDirectory() as folder:
        # the target of this weir is on the device that is full
        os.symlink("/dev/full", os.path.join(folder, "oberwehr.csv"))
        with LocalCluster(
            n_workers=2,
            threads_per_worker=1,
            memory_limit="400MiB",
            dashboard_address=":0",
        ) as cluster:
            with Client(cluster) as client:
                rng = np.random.default_rng(4)
                frames = [
                    client.submit(hourly, w, rng.normal(2, 0.1, 6000)) for w in WEIRS
                ]
                paths = [client.submit(export, f, folder) for f in frames]
                for p in client.gather(paths):
                    print(os.path.basename(p))


if __name__ == "__main__":
    main()
