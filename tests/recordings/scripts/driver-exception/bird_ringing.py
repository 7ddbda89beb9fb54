import os
import tempfile

import dask.dataframe as dd
import pandas as pd
from dask.distributed import Client

SPECIES = ["wren", "robin", "dunnock"]


def ringing(station):
    return pd.DataFrame(
        {"station": station, "species": SPECIES * 100, "wing": range(300)}
    )


def main():
    folder = tempfile.mkdtemp(prefix="birds-")
    outdir = os.path.join(folder, "exports", "2026-11")
    with open(os.path.join(folder, "exports"), "w") as fh:
        fh.write("see wiki\n")
    with Client(n_workers=2, threads_per_worker=1, dashboard_address=None) as client:
        birds = dd.from_map(ringing, [f"st{k}" for k in range(6)])
        wings = birds.groupby(["station", "species"]).wing.mean().compute()
        print(wings.head())
        client.shutdown()
    os.makedirs(outdir, exist_ok=True)
    wings.to_csv(os.path.join(outdir, "wings.csv"))


if __name__ == "__main__":
    main()
