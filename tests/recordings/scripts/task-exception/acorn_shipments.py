"""Weight of the acorn shipments per port, from the parquet files of the feeds."""

import tempfile
from pathlib import Path

import dask.dataframe as dd
import pandas as pd
from distributed import Client, LocalCluster


def write_feeds(folder):
    for n, feed in enumerate(["alder", "beech", "chestnut"]):
        frame = pd.DataFrame(
            {"port": ["A", "B"] * 500, "net_kg": range(1000), "feed": feed}
        )
        if feed == "chestnut":
            frame = frame.rename(columns={"net_kg": "netto_kg"})
        frame.to_parquet(folder / f"{n}-{feed}.parquet")


def main():
    with tempfile.TemporaryDirectory() as tmp:
        folder = Path(tmp) / "feeds"
        folder.mkdir()
        write_feeds(folder)
        with (
            LocalCluster(
                n_workers=2,
                threads_per_worker=1,
                dashboard_address=None,
                local_directory=tmp,
            ) as cluster,
            Client(cluster),
        ):
            frames = dd.from_map(
                pd.read_parquet, sorted(str(p) for p in folder.glob("*.parquet"))
            )
            print(frames.groupby("port").net_kg.sum().compute())


if __name__ == "__main__":
    main()
