"""Daily means of a sensor's CSV exports."""

import tempfile
from pathlib import Path

import dask.dataframe as dd
import pandas as pd
from dask.distributed import Client

FOLDER = Path(tempfile.mkdtemp())

if __name__ == "__main__":
    for month in range(1, 5):
        times = pd.date_range(f"2026-{month:02}-01", periods=600, freq="h")
        frame = pd.DataFrame({"time": times, "value": range(600)})
        frame.to_csv(FOLDER / f"sensor-{month}.csv", index=False)

    client = Client(n_workers=2, threads_per_worker=1, dashboard_address=None)
    sensor = dd.read_csv(FOLDER / "sensor-*.csv", parse_dates=["time"])
    print("rows", len(sensor))
    daily = sensor.set_index("time", sort=False).value.resample("D").mean()
    print(daily.compute().tail())
