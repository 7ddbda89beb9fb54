"""Stages of the hive scale pipeline; each stage is wrapped so that the caller sees only stage names."""

import os
import tempfile

import dask.dataframe as dd
import numpy as np
import pandas as pd
from dask.distributed import Client, LocalCluster


class StageFailed(Exception):
    pass


def deliver(folder):
    rng = np.random.default_rng(3)
    for i in range(5):
        frame = pd.DataFrame(
            {
                "hive": rng.integers(0, 20, 400),
                "grams": rng.normal(30000, 900, 400).round(1).astype(str),
            }
        )
        if i == 3:
            frame.loc[211, "grams"] = "31 204,5"
        frame.to_parquet(os.path.join(folder, f"scale_{i}.parquet"))


def stage_load(folder):
    return dd.read_parquet(os.path.join(folder, "scale_*.parquet"))


def to_kilos(frame):
    out = frame.copy()
    out["kilos"] = out["grams"].astype("float64") / 1000.0
    return out


def stage_weigh(ddf):
    meta = {"hive": "int64", "grams": "string", "kilos": "float64"}
    weighed = ddf.map_partitions(to_kilos, meta=meta)
    return weighed.groupby("hive")["kilos"].mean().compute()


def run_stage(number, fn, arg):
    ok = True
    try:
        result = fn(arg)
    except Exception:
        ok = False
    if not ok:
        raise StageFailed(f"stage {number} ({fn.__name__}) failed")
    return result


def main():
    with tempfile.TemporaryDirectory() as folder:
        deliver(folder)
        with LocalCluster(
            n_workers=2,
            threads_per_worker=1,
            memory_limit="500MiB",
            dashboard_address=":0",
        ) as cluster:
            with Client(cluster):
                ddf = run_stage(1, stage_load, folder)
                means = run_stage(2, stage_weigh, ddf)
                print(means.describe())


if __name__ == "__main__":
    main()
