import gzip
import tempfile
from pathlib import Path

import pandas as pd
from dask import delayed, compute
from distributed import Client, LocalCluster

STATIONS = ["10381", "10384", "10400", "10410", "10488", "10501"]


def deliver(folder):
    for s in STATIONS:
        body = "ts,temp,rh\n" + "\n".join(
            f"2026-01-01T{i % 24:02d}:00,{i * 0.1 * int(s) % 31:.3f},{i % 100}"
            for i in range(4000)
        )
        raw = bytearray(gzip.compress(body.encode()))
        if s == "10410":
            for k in range(2000, 2020):
                raw[k] ^= 0x5A
        (folder / f"{s}.csv.gz").write_bytes(raw)


@delayed
def parse(path):
    return pd.read_csv(path, parse_dates=["ts"])


@delayed
def climatology(df, station):
    return station, df.groupby(df.ts.dt.hour)["temp"].mean().round(2).to_dict()


def main():
    with tempfile.TemporaryDirectory() as tmp:
        folder = Path(tmp)
        deliver(folder)
        with (
            LocalCluster(
                n_workers=1,
                threads_per_worker=2,
                memory_limit="600MB",
                dashboard_address=None,
            ) as c,
            Client(c),
        ):
            parts = [
                climatology(parse(str(folder / f"{s}.csv.gz")), s) for s in STATIONS
            ]
            for station, clim in compute(*parts):
                print(station, clim[0], clim[12])


if __name__ == "__main__":
    main()
