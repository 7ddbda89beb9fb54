"""Re-sorts the slips of the evening draw by player, kiosk files in, player files out."""

import time

import dask
import numpy as np
import pandas as pd
import dask.dataframe as dd
from dask.distributed import Client, LocalCluster

dask.config.set({"dataframe.shuffle.method": "p2p"})

KIOSKS = 12


def load_kiosk(kiosk):
    rng = np.random.default_rng(kiosk)
    rows = 4000
    time.sleep(0.2)
    slips = pd.DataFrame(
        {
            "player": rng.integers(0, 3000, rows),
            "kiosk": kiosk,
            "stake": rng.choice([1.0, 2.0, 5.0], rows),
            "numbers": rng.integers(0, 10_000_000, rows),
        }
    )
    if kiosk == 8:
        slips["stake"] = slips["stake"].map("{:.2f} EUR".format)
    return slips


def per_player(part):
    return (
        part.groupby("player").agg({"stake": "sum", "numbers": "count"}).reset_index()
    )


def main():
    with LocalCluster(
        n_workers=2, threads_per_worker=1, memory_limit="700MB", dashboard_address=":0"
    ) as cluster:
        with Client(cluster) as client:
            client.wait_for_workers(2)
            meta = pd.DataFrame(
                {
                    "player": pd.Series(dtype="i8"),
                    "kiosk": pd.Series(dtype="i8"),
                    "stake": pd.Series(dtype="f8"),
                    "numbers": pd.Series(dtype="i8"),
                }
            )
            slips = dd.from_map(
                load_kiosk, range(KIOSKS), meta=meta, enforce_metadata=False
            )
            print("slips:", len(slips))
            shuffled = slips.shuffle("player", npartitions=8)
            totals = shuffled.map_partitions(
                per_player, meta={"player": "i8", "stake": "f8", "numbers": "i8"}
            )
            table = totals.compute()
            print("players:", len(table), "staked:", table["stake"].sum())


if __name__ == "__main__":
    main()
