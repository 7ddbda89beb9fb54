"""Wind climatology: percentiles of the wind speed over a year at each grid point.

Fields come one file an hour; a chunk is some hours of the whole grid.
Percentiles need all hours of a point at once.
"""

import argparse
import os
import time

os.environ.setdefault("DASK_DISTRIBUTED__SCHEDULER__ALLOWED_FAILURES", "1")

import dask.array as da
import numpy as np
from dask.distributed import Client, LocalCluster, wait

STATIONS = {"fastnet": (12, 30), "rockall": (3, 18), "viking": (60, 77)}


def read_hours(block_info=None):
    """The fields of one chunk (as the archive's reader gives them)."""
    where = block_info[None]["array-location"]
    shape = tuple(stop - start for start, stop in where)
    rng = np.random.default_rng(where[0][0])
    return rng.weibull(2.0, shape) * 9.0


def percentiles(block, q):
    return np.percentile(block, q, axis=0)


def mean_speed(speed):
    return float(speed.mean().compute())


def climatology(speed, q):
    whole = speed.rechunk((-1, -1, -1))
    return whole.map_blocks(
        percentiles, q, dtype="float64", chunks=((len(q),), *whole.chunks[1:])
    )


def report(result, q, path):
    with open(path, "w") as out:
        out.write("station," + ",".join(f"p{x}" for x in q) + "\n")
        for name, (i, j) in STATIONS.items():
            values = ",".join(f"{v:.2f}" for v in result[:, i, j])
            out.write(f"{name},{values}\n")


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--hours", type=int, default=8760)
    parser.add_argument("--quantiles", default="5,50,95,99")
    parser.add_argument("--out", default="percentiles.csv")
    args = parser.parse_args()
    q = [float(x) for x in args.quantiles.split(",")]

    cluster = LocalCluster(
        n_workers=2, threads_per_worker=1, memory_limit="400MB", dashboard_address=None
    )
    client = Client(cluster)
    began = time.monotonic()
    try:
        chunks = (146, 80, 90)
        speed = da.map_blocks(
            read_hours,
            chunks=da.core.normalize_chunks(chunks, (args.hours, 80, 90)),
            dtype="float64",
        )
        print(f"mean speed {mean_speed(speed):.3f} m/s", flush=True)
        result = client.compute(climatology(speed, q))
        wait(result, timeout=50)
        report(result.result(), q, args.out)
        print("written", args.out)
    finally:
        print(f"ended after {time.monotonic() - began:.0f} s", flush=True)
        client.close()
        cluster.close()


if __name__ == "__main__":
    main()
