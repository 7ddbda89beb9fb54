import dask
import dask.dataframe as dd
import pandas as pd
from dask.distributed import Client

META = pd.DataFrame(
    {
        "grower": pd.Series(dtype="i8"),
        "size": pd.Series(dtype="f8"),
        "lot": pd.Series(dtype="string"),
    }
)


def load(week):
    frame = pd.DataFrame(
        {
            "grower": [(week * k) % 9 for k in range(50)],
            "size": [10.0 + k % 4 for k in range(50)],
        }
    )
    frame["lot"] = [f"W{week}-{k}" for k in range(50)]
    if week == 5:
        frame["size"] = frame["size"].map(lambda s: f"{s:.0f}/{s + 1:.0f}")
    return frame


def main():
    dask.config.set({"dataframe.shuffle.method": "p2p"})
    with Client(n_workers=2, threads_per_worker=1, dashboard_address=None):
        bulbs = dd.from_delayed(
            [dask.delayed(load)(week) for week in range(1, 9)],
            meta=META,
            verify_meta=False,
        )
        sorted_bulbs = bulbs.shuffle("grower", npartitions=6)
        print(
            sorted_bulbs.map_partitions(len).compute().sum(), "lots in growers' order"
        )


if __name__ == "__main__":
    main()
