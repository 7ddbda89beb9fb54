"""Joins the carillon's strike log with the register of bells, tower by tower."""

import tempfile
import time
from pathlib import Path

import numpy as np
import pandas as pd
import dask.dataframe as dd
from dask.distributed import Client, LocalCluster

TOWERS = ["bruges", "delft", "ghent", "mechelen", "utrecht", "zutphen"]


def export(folder):
    rng = np.random.default_rng(3)
    bells = []
    for tower in TOWERS:
        pd.DataFrame(
            {
                "tower": tower,
                "bell": rng.integers(0, 47, 9000),
                "strength": rng.beta(2, 3, 9000),
            }
        ).to_parquet(folder / f"strikes_{tower}.parquet")
        for bell in range(47):
            bells.append((tower, bell, round(6000 * 0.9**bell, 1)))
    bells.append(("mechelen", 11, 1879.0))
    pd.DataFrame(bells, columns=["tower", "bell", "mass_kg"]).to_csv(
        folder / "bells.csv", index=False
    )


def attach_bells(strikes, register):
    time.sleep(0.3)
    tower = strikes["tower"].iloc[0]
    own = register[register["tower"] == tower].drop(columns="tower")
    return strikes.merge(own, on="bell", how="left", validate="many_to_one")


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
                register = pd.read_csv(folder / "bells.csv")
                strikes = dd.read_parquet(str(folder / "strikes_*.parquet"))
                print("strikes:", len(strikes))
                meta = strikes._meta.assign(mass_kg=1.0)
                joined = strikes.map_partitions(attach_bells, register, meta=meta)
                joined["work"] = joined["strength"] * joined["mass_kg"]
                work = joined.groupby("tower").work.sum().compute()
                print(work.round(1).to_string())
                work.to_frame().to_csv(folder / "work.csv")


if __name__ == "__main__":
    main()
