"""Rentals of a school of music: invoices, deposits and repairs.

Three jobs that were separate scripts once.  Each has the cluster that its author liked, so they are started
one after another, each with a cluster of its own.
"""

import random
import tempfile
import time
from pathlib import Path

import dask
import dask.array as da
import pandas as pd
from dask import dataframe as dd
from distributed import Client, LocalCluster

TERMS = ["autumn", "spring", "summer"]


def rentals(n=3000, seed=2):
    rnd = random.Random(seed)
    return pd.DataFrame(
        {
            "pupil": [rnd.randrange(400) for _ in range(n)],
            "fiddle": [f"F{rnd.randrange(120):03d}" for _ in range(n)],
            "term": [rnd.choice(TERMS) for _ in range(n)],
            "fee": [rnd.choice([18.0, 24.0, 31.5]) for _ in range(n)],
        }
    )


def invoices(folder):
    """Two processes, a data frame."""
    with LocalCluster(
        n_workers=2, threads_per_worker=1, memory_limit="400MB", dashboard_address=None
    ) as cluster:
        with Client(cluster):
            frame = dd.from_pandas(rentals(), npartitions=6)
            out = frame.groupby(["pupil", "term"])["fee"].sum().reset_index().compute()
    out.to_csv(Path(folder) / "invoices.csv", index=False)
    return len(out)


@dask.delayed
def deposit(fiddle, history):
    time.sleep(0.03)
    return fiddle, 50 + 10 * sum(1 for h in history if h > 24)


@dask.delayed
def collect(parts):
    return dict(parts)


def deposits(folder):
    """Threads in this process."""
    cluster = LocalCluster(
        n_workers=1, threads_per_worker=4, processes=False, dashboard_address=None
    )
    client = Client(cluster)
    try:
        history = rentals().groupby("fiddle")["fee"].apply(list)
        table = collect(
            [deposit(name, fees) for name, fees in history.items()]
        ).compute()
    finally:
        client.close()
        cluster.close()
    pd.Series(table).to_csv(Path(folder) / "deposits.csv")
    return len(table)


def wear(block):
    return (block**1.5) / 10


def repairs(folder):
    """A cluster that grows for the second half of the work."""
    with LocalCluster(
        n_workers=1, threads_per_worker=1, memory_limit="400MB", dashboard_address=None
    ) as cluster:
        with Client(cluster) as client:
            hours = da.random.default_rng(4).gamma(
                2.0, 30.0, size=(120, 3650), chunks=(30, 730)
            )
            first = hours.map_blocks(wear, dtype=float).sum(axis=1).compute()
            cluster.scale(2)
            client.wait_for_workers(2, timeout=30)
            second = hours.map_blocks(wear, dtype=float).max(axis=1).compute()
    need = [
        (i, float(a))
        for i, (a, b) in enumerate(zip(first, second))
        if b > first.mean() / 50 or a > 0
    ]
    (Path(folder) / "repairs.txt").write_text(
        "\n".join(f"{i} {a:.1f}" for i, a in need)
    )
    return len(need)


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as out_dir:
        for job in (invoices, deposits, repairs):
            t0 = time.perf_counter()
            print(
                f"{job.__name__}: {job(out_dir)} rows in {time.perf_counter() - t0:.1f} s",
                flush=True,
            )
        print(sorted(p.name for p in Path(out_dir).iterdir()))
