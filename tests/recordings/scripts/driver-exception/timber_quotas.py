"""Felling quotas per district: satellite estimates against the forestry office's plan, published as parquet.

Configuration comes from a YAML file beside the script (a default one is written when there is none).
"""

import os
import sys

import numpy as np
import pandas as pd
import yaml

import dask
import dask.array as da
import dask.dataframe as dd
from distributed import Client, LocalCluster, performance_report  # noqa: F401

DEFAULT = """
districts: 40
cells: 400
workers: 2
publish_to: published/quotas
"""


def read_config(path="quotas.yaml"):
    if not os.path.exists(path):
        with open(path, "w") as stream:
            stream.write(DEFAULT)
        # last month's job left its answer under this name
        with open("published", "w") as stream:
            stream.write("ok 2026-10-28\n")
    with open(path) as stream:
        return yaml.safe_load(stream)


def smooth(block):
    return (block + np.roll(block, 1, axis=0) + np.roll(block, -1, axis=0)) / 3.0


def estimates(config):
    cells = config["cells"]
    rng = da.random.default_rng(5)
    canopy = rng.gamma(
        2.0, 30.0, size=(config["districts"] * 10, cells), chunks=(100, cells)
    )
    smoothed = da.overlap.overlap(canopy, depth={0: 1}, boundary="reflect").map_blocks(
        smooth
    )
    trimmed = da.overlap.trim_overlap(smoothed, depth={0: 1}, boundary="reflect")
    return trimmed.sum(axis=1).compute()


def quota(frame, share):
    out = frame.copy()
    out["quota"] = np.minimum(frame["estimate"] * share, frame["plan"])
    return out


def build(config, volumes):
    rng = np.random.default_rng(9)
    plots = pd.DataFrame(
        {
            "district": np.repeat(np.arange(config["districts"]), 10),
            "estimate": volumes,
            "plan": rng.uniform(1000, 4000, len(volumes)),
        }
    )
    frame = dd.from_pandas(plots, npartitions=8)
    return frame.map_partitions(quota, 0.08)


def publish(frame, target):
    print("publishing to", target, flush=True)
    frame.to_parquet(target, write_index=False, overwrite=False)


def main():
    config = read_config()
    dask.config.set({"distributed.comm.timeouts.connect": "10s"})
    cluster = LocalCluster(
        n_workers=config["workers"],
        threads_per_worker=1,
        memory_limit="400MB",
        dashboard_address=None,
    )
    client = Client(cluster)
    try:
        volumes = estimates(config)
        print(f"{len(volumes)} plots estimated, {volumes.mean():.0f} on average")
        frame = build(config, volumes).persist()
        print("sum of quotas:", round(float(frame["quota"].sum().compute())))
        publish(frame, config["publish_to"])
        print("done")
    finally:
        client.close()
        cluster.close()


if __name__ == "__main__":
    sys.exit(main())
