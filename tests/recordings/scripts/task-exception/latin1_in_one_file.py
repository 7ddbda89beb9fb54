"""Read customers; one branch exports in another encoding."""

import pathlib
import tempfile

import dask.dataframe as dd
from dask.distributed import Client


if __name__ == "__main__":
    with Client(n_workers=2, threads_per_worker=1, dashboard_address=":0") as client:
        folder = pathlib.Path(tempfile.mkdtemp())
        for n in range(4):
            text = "id,city\n" + "1,K\u00f6ln\n" * 300
            code = "latin-1" if n == 2 else "utf-8"
            (folder / f"branch-{n}.csv").write_bytes(text.encode(code))
        print(len(dd.read_csv(str(folder / "branch-*.csv")).city.unique().compute()))
