import tempfile
from pathlib import Path

import dask.dataframe as dd
import pandas as pd
from distributed import Client, LocalCluster

COLUMNS = ["trip_id", "distance", "fare"]


def month_files(folder):
    for m in range(1, 7):
        df = pd.DataFrame(
            {
                "trip_id": range(m * 1000, m * 1000 + 400),
                "distance": [1.5 + (i % 9) for i in range(400)],
                "fare": [7.5 + (i % 20) for i in range(400)],
            }
        )
        if m == 5:
            df["fare"] = df["fare"].map("{:.2f} EUR".format)
        df.to_csv(folder / f"trips_2026-{m:02d}.csv", index=False)
    return sorted(folder.glob("*.csv"))


def read_month(path):
    return pd.read_csv(path)[COLUMNS]


def per_km(part):
    return part.assign(per_km=part["fare"] / part["distance"])


def main():
    with tempfile.TemporaryDirectory() as tmp:
        files = month_files(Path(tmp))
        with (
            LocalCluster(
                n_workers=2,
                threads_per_worker=1,
                memory_limit="400MB",
                dashboard_address=None,
            ) as cluster,
            Client(cluster),
        ):
            meta = pd.DataFrame({"trip_id": [1], "distance": [1.0], "fare": [1.0]})[:0]
            trips = dd.from_map(read_month, files, meta=meta)
            rated = trips.map_partitions(per_km, meta=meta.assign(per_km=1.0))
            print("mean per km", rated["per_km"].mean().compute())


if __name__ == "__main__":
    main()
