"""Peak deck load of every ferry route."""

import json
import pathlib
import sys

import dask
from dask.distributed import Client, LocalCluster

from load import berth_weight, read_manifest

dask.config.set({"distributed.scheduler.allowed-failures": 1})


def route_peak(path):
    return float(berth_weight(read_manifest(path)).max())


def main(date, folder, out):
    files = sorted(map(str, pathlib.Path(folder).glob("route-*.npy")))
    with LocalCluster(
        n_workers=1, threads_per_worker=1, memory_limit="500MB", dashboard_address=None
    ) as cluster:
        with Client(cluster) as client:
            peaks = client.gather(client.map(route_peak, files, pure=False))
    target = pathlib.Path(out)
    target.mkdir(parents=True, exist_ok=True)
    (target / f"peaks-{date}.json").write_text(json.dumps(dict(zip(files, peaks))))
    print("highest", max(peaks))


if __name__ == "__main__":
    main(*sys.argv[1:])
