"""Reads the passages of each month on the workers, and counts them."""

import tempfile
from pathlib import Path

import dask.dataframe as dd
from dask.distributed import Client

if __name__ == "__main__":
    folder = Path(tempfile.mkdtemp())
    for month in ("01", "02", "03"):
        rows = "".join(f"{month},{gate},{gate * 3}\n" for gate in range(200))
        (folder / f"passages-{month}.csv").write_text("month,gate,passages\n" + rows)
    with Client(n_workers=1, threads_per_worker=2) as client:
        months = [
            client.submit(dd.read_csv, str(each)) for each in sorted(folder.iterdir())
        ]
        passages = dd.from_delayed(months)
        print(len(passages))
