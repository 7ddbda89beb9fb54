import tempfile
from pathlib import Path

import dask
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
from distributed import Client, LocalCluster

HOSPITALS = ["stmary", "county", "riverside", "lakeview", "royal"]


def export(folder):
    for h in HOSPITALS:
        bed = "bed_no" if h != "riverside" else "bed_number"
        t = pa.table(
            {
                "ward": [1, 2, 3] * 50,
                bed: list(range(150)),
                "occupied": [True, False, True] * 50,
            }
        )
        pq.write_table(t, folder / f"{h}.parquet")


def occupancy(path):
    df = pd.read_parquet(path)
    grouped = df[df["occupied"]].groupby("ward")["bed_no"].nunique()
    return grouped.rename(Path(path).stem)


def combine(parts):
    return pd.concat(parts, axis=1).fillna(0)


def main():
    with tempfile.TemporaryDirectory() as tmp:
        folder = Path(tmp)
        export(folder)
        cluster = LocalCluster(
            n_workers=2,
            threads_per_worker=1,
            memory_limit="400MB",
            dashboard_address=None,
        )
        client = Client(cluster)
        try:
            parts = [
                dask.delayed(occupancy)(str(folder / f"{h}.parquet")) for h in HOSPITALS
            ]
            table = dask.delayed(combine)(parts).compute()
            print(table)
        finally:
            client.close()
            cluster.close()


if __name__ == "__main__":
    main()
