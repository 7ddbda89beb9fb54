"""Average temperature of all stations; one station has new firmware."""

import tempfile
from pathlib import Path

import dask.dataframe as dd
import pandas as pd
from dask.distributed import Client

DATA = Path(tempfile.mkdtemp()) / "stations"


def write(station):
    temperature = [12.0 + n % 9 for n in range(1000)]
    frame = pd.DataFrame({"station": station, "temperature": temperature})
    if station == 5:  # new firmware
        frame = frame.rename(columns={"temperature": "temperature_c"})
    frame.to_parquet(DATA / f"station-{station}.parquet")


if __name__ == "__main__":
    DATA.mkdir()
    for station in range(8):
        write(station)
    client = Client(n_workers=2, threads_per_worker=1)
    df = dd.read_parquet(DATA)
    print(df.groupby("station")["temperature"].mean().compute())
