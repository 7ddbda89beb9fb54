"""Pack drone rasters into the Parquet vault, then build the overview table of the whole vault."""

import io
import os
import pathlib
import sys
import tempfile
import time

import dask
import numpy as np
import pandas as pd
import pyarrow.parquet as pq
from dask.distributed import Client, KilledWorker, LocalCluster, as_completed

FLIGHTS = ["vale-01", "vale-02", "vale-03", "weir-01", "weir-02", "weir-03"]


class Codec:
    """What is left of the vendor's packer after we took it off the Windows box."""

    MAX_BANDS = 4

    def __init__(self, bands):
        self.bands = bands

    def flush(self, handle):
        handle.flush()
        if self.bands > self.MAX_BANDS:
            sys.stderr.write("packer: too many bands\n")
            sys.stderr.flush()
            os._exit(70)  # the vendor's exit(EX_SOFTWARE)


def raster(flight):
    bands = 5 if flight == "weir-03" else 3
    rng = np.random.default_rng(sum(map(ord, flight)))
    frame = pd.DataFrame(
        rng.integers(0, 255, (20_000, bands)), columns=[f"b{i}" for i in range(bands)]
    )
    frame["flight"] = flight
    return frame, bands


def pack_flight(flight, vault):
    frame, bands = raster(flight)
    codec = Codec(bands)
    buf = io.BytesIO()
    frame.to_parquet(buf)
    data = buf.getvalue()
    half = len(data) // 2
    with open(os.path.join(vault, f"{flight}.parquet"), "wb") as out:
        out.write(data[:half])
        time.sleep(0.5)
        codec.flush(out)
        out.write(data[half:])
    return flight, len(frame)


def overview(vault):
    rows = []
    for path in sorted(pathlib.Path(vault).glob("*.parquet")):
        table = pq.read_table(path)
        rows.append((path.stem, table.num_rows, table.num_columns))
    return pd.DataFrame(rows, columns=["flight", "pixels", "columns"])


def main():
    vault = tempfile.mkdtemp(prefix="vault-")
    dask.config.set({"distributed.scheduler.allowed-failures": 1})
    with LocalCluster(
        n_workers=2, threads_per_worker=1, memory_limit="600MiB", dashboard_address=":0"
    ) as cluster:
        with Client(cluster) as client:
            futures = client.map(pack_flight, FLIGHTS, vault=vault)
            packed = 0
            for future in as_completed(futures):
                try:
                    flight, n = future.result()
                    packed += 1
                    print(f"packed {flight}: {n} pixels")
                except KilledWorker:
                    print(f"skipped {future.key}, will be packed tomorrow")
            print(f"{packed} of {len(FLIGHTS)} flights packed")
            print(overview(vault).to_string(index=False))


if __name__ == "__main__":
    main()
