"""Reconciles weights of mail sacks per carrier with the totals of the sorting offices."""

import tempfile
import time
from pathlib import Path

import numpy as np
import pandas as pd
import dask.dataframe as dd
from dask.distributed import Client, LocalCluster


def export(folder):
    rng = np.random.default_rng(88)
    for office in range(8):
        rows = 15_000
        pd.DataFrame(
            {
                "sack": np.arange(rows) + office * 1_000_000,
                "route": rng.integers(0, 120, rows),
                "grams": rng.integers(500, 24_000, rows),
            }
        ).to_csv(folder / f"office_{office}.csv", index=False)
    carriers = pd.DataFrame(
        {"route": np.arange(120), "carrier": [f"C{r % 7}" for r in range(120)]}
    )
    carriers = pd.concat([carriers, pd.DataFrame({"route": [44], "carrier": ["C6"]})])
    carriers.to_csv(folder / "carriers.csv", index=False)


def in_range(part):
    time.sleep(0.3)
    return part[part["grams"].between(1, 30_000)]


def load(folder):
    sacks = dd.read_csv(str(folder / "office_*.csv")).map_partitions(in_range)
    carriers = pd.read_csv(folder / "carriers.csv")
    return sacks, carriers


def weigh(sacks, carriers):
    joined = sacks.merge(carriers, on="route", how="left")
    return joined.groupby("carrier").grams.sum().compute()


def reconcile(by_carrier, expected):
    booked = int(by_carrier.sum())
    print(f"offices {expected / 1000:.1f} kg, carriers {booked / 1000:.1f} kg")
    assert booked == expected, (
        f"carrier totals differ from office totals by {booked - expected} g"
    )


def main():
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        export(folder)
        with LocalCluster(
            n_workers=2,
            threads_per_worker=1,
            memory_limit="600MB",
            dashboard_address=":0",
        ) as cluster:
            with Client(cluster) as client:
                client.wait_for_workers(2)
                sacks, carriers = load(folder)
                expected = int(sacks.grams.sum().compute())
                by_carrier = weigh(sacks, carriers)
                print(by_carrier.to_string())
                reconcile(by_carrier, expected)
                by_carrier.to_frame("grams").to_csv(folder / "invoice.csv")
                print("invoices written")


if __name__ == "__main__":
    main()
