"""Compact small event files into one archive file per year."""

import resource
import tempfile
from pathlib import Path

import numpy as np
import pandas as pd
from dask.distributed import Client, LocalCluster


def apply_quota(limit):
    resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))


def write_events(root, year, count):
    rng = np.random.default_rng(year)
    for i in range(3):
        pd.DataFrame(
            {
                "ts": np.arange(count),
                "value": rng.random(count),
                "code": rng.integers(0, 1 << 40, count),
            }
        ).to_parquet(root / f"ev_{year}_{i}.parquet")


def compact(root, year):
    parts = [
        pd.read_parquet(p) for p in sorted(Path(root).glob(f"ev_{year}_*.parquet"))
    ]
    target = Path(root) / f"archive_{year}.parquet"
    pd.concat(parts).to_parquet(target, compression=None)
    for p in Path(root).glob(f"ev_{year}_*.parquet"):
        p.unlink()
    return target.stat().st_size


def main():
    with tempfile.TemporaryDirectory() as tmp:
        root = Path(tmp)
        for year, count in (
            (2022, 20_000),
            (2023, 25_000),
            (2024, 160_000),
            (2025, 30_000),
        ):
            write_events(root, year, count)
        with (
            LocalCluster(
                n_workers=2, threads_per_worker=1, dashboard_address=None
            ) as cluster,
            Client(cluster) as client,
        ):
            client.run(apply_quota, 8 * 2**20)
            futures = client.map(
                compact, [str(root)] * 4, [2022, 2023, 2024, 2025], retries=1
            )
            sizes = client.gather(futures)
            print(sizes)


if __name__ == "__main__":
    main()
