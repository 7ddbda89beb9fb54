import tempfile

import dask
import polars as pl
from dask.distributed import Client, LocalCluster


def quotes(folder, venue):
    frame = pl.DataFrame(
        {
            "isin": [f"DE{k:05d}" for k in range(300)],
            "yield_pct": [k / 200 for k in range(300)],
        }
    )
    if venue == "paris":
        frame = frame.rename({"yield_pct": "yield"})
    path = f"{folder}/{venue}.csv"
    frame.write_csv(path)
    return path


@dask.delayed
def curve(path):
    frame = pl.scan_csv(path)
    return frame.select(pl.col("yield_pct").mean()).collect().item()


def main():
    with tempfile.TemporaryDirectory() as folder:
        paths = [quotes(folder, v) for v in ("frankfurt", "paris", "milan")]
        with (
            LocalCluster(
                n_workers=2, threads_per_worker=1, dashboard_address=None
            ) as cluster,
            Client(cluster),
        ):
            points = dask.compute(*map(curve, paths))
    print("mean yield", sum(points) / len(points))


if __name__ == "__main__":
    main()
