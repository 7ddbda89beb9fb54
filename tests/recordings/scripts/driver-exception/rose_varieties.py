import logging
import tempfile
from pathlib import Path

import dask.dataframe as dd
import pandas as pd
from dask.distributed import Client

logging.basicConfig(level=logging.INFO)


def write_beds(folder):
    for bed in range(4):
        frame = pd.DataFrame(
            {
                "variety": ["gallica", "alba", "moss"] * 20,
                "month": ["may", "june"] * 30,
                "blooms": range(60),
            }
        )
        frame["blooms"] += bed
        frame.to_csv(Path(folder) / f"bed{bed}.csv", index=False)


def blooms_by_month(beds):
    beds["month"] = beds["month"].astype("category")
    return beds.pivot_table(
        index="variety", columns="month", values="blooms", aggfunc="sum"
    )


if __name__ == "__main__":
    with (
        tempfile.TemporaryDirectory() as folder,
        Client(n_workers=1, threads_per_worker=2, dashboard_address=None),
    ):
        write_beds(folder)
        beds = dd.read_csv(f"{folder}/bed*.csv")
        logging.info("%d rows", len(beds))
        print(blooms_by_month(beds).compute())
