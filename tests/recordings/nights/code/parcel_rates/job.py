"""Rate all parcels that were scanned yesterday."""

import os
import pathlib
import sys

import dask.dataframe as dd
from dask.distributed import Client, LocalCluster

import settings
from rating.bands import price
from rating.load import META, read_depot


def main(day, inbox, out):
    files = [
        os.path.join(inbox, f"{depot}_{i}.parquet")
        for depot in settings.DEPOTS
        for i in range(settings.PARTS_PER_DEPOT)
    ]
    parcels = dd.from_map(read_depot, files, meta=META)
    rated = parcels.map_partitions(price, meta=META.assign(band=1.0, cents=1.0))
    per_depot = rated.groupby("depot")["cents"].sum()
    per_band = rated.groupby("band")["grams"].count()
    with LocalCluster(
        n_workers=settings.WORKERS, threads_per_worker=2, dashboard_address=":0"
    ) as cluster:
        with Client(cluster) as client:
            depots, bands = client.gather(client.compute([per_depot, per_band]))
    target = pathlib.Path(out)
    target.mkdir(parents=True, exist_ok=True)
    depots.to_csv(target / f"depots-{day}.csv")
    bands.to_csv(target / f"bands-{day}.csv")
    print(day, "rated", int(bands.sum()), "parcels")


if __name__ == "__main__":
    main(*sys.argv[1:4])
