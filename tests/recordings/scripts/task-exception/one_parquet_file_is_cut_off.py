"""Add up a Parquet data set, one file of which was uploaded in part."""

import pathlib
import tempfile

import dask.dataframe as dd
import pandas as pd
from dask.distributed import Client


def main():
    folder = pathlib.Path(tempfile.mkdtemp()) / "trades"
    folder.mkdir()
    for n in range(6):
        frame = pd.DataFrame({"qty": range(1000), "price": [n + 0.5] * 1000})
        frame.to_parquet(folder / f"trades-{n}.parquet")
    broken = folder / "trades-4.parquet"
    broken.write_bytes(broken.read_bytes()[:5000])
    with Client(n_workers=2, threads_per_worker=1, dashboard_address=":0"):
        frame = dd.read_parquet(
            [str(each) for each in sorted(folder.glob("*.parquet"))]
        )
        print((frame.qty * frame.price).sum().compute())


if __name__ == "__main__":
    main()
