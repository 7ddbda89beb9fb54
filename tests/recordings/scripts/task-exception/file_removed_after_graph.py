"""Read daily extracts that a clean-up job removes after the graph was built."""

import pathlib
import tempfile

import dask.dataframe as dd
from dask.distributed import Client


if __name__ == "__main__":
    with Client(n_workers=2, threads_per_worker=1, dashboard_address=":0") as client:
        folder = pathlib.Path(tempfile.mkdtemp())
        for n in range(5):
            (folder / f"extract-{n}.csv").write_text("sku,qty\n" + "a,1\n" * 500)
        frame = dd.read_csv(str(folder / "extract-*.csv"))
        (folder / "extract-3.csv").unlink()
        print(frame.qty.sum().compute())
