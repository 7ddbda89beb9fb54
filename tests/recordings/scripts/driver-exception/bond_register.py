import numpy as np
import pandas as pd
import dask.dataframe as dd
from dask.distributed import Client, LocalCluster


def register(n=6000):
    rng = np.random.default_rng(11)
    codes = [f"XS-{rng.integers(10_000, 99_999)}-{k % 9}" for k in range(n)]
    return pd.DataFrame(
        {"bond_code": codes, "nominal": rng.integers(1, 50, n) * 1000.0}
    )


def split_code(part):
    pieces = part["bond_code"].str.split("-", expand=True)
    return part.assign(
        country=pieces[0],
        series=pieces[1].astype("int64"),
        check=pieces[2].astype("int64"),
    )


def weigh(part):
    return part.assign(weight=part["nominal"] * (part["check"] + 1))


def main():
    with (
        LocalCluster(
            n_workers=2, threads_per_worker=1, dashboard_address=None
        ) as cluster,
        Client(cluster),
    ):
        bonds = dd.from_pandas(register(), npartitions=4)
        print("bonds:", len(bonds), "nominal:", bonds.nominal.sum().compute())
        split = bonds.map_partitions(split_code)
        weighed = split.map_partitions(weigh)
        print(weighed.groupby("country").weight.sum().compute())


if __name__ == "__main__":
    main()
