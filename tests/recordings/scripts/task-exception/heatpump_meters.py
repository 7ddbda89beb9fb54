"""Monthly consumption of heat pumps from the quarter-hour meters."""

import logging
import sys
import tempfile
from pathlib import Path

import dask.dataframe as dd
import numpy as np
import pandas as pd
from dask.distributed import Client

logging.basicConfig(
    level=logging.INFO, format="%(asctime)s %(levelname)s %(name)s %(message)s"
)
log = logging.getLogger("heatpump_meters")

METERS = 6


def write_readings(folder):
    rng = np.random.default_rng(6)
    for meter in range(METERS):
        start = "2026-03-01" if meter != 4 else "2026-03-22"
        end = "2026-03-20" if meter != 4 else "2026-04-02"
        stamps = pd.date_range(start, end, freq="15min")
        frame = pd.DataFrame(
            {
                "meter": f"HP-{meter:03d}",
                "local": stamps,
                "kwh": rng.gamma(2.0, 0.3, len(stamps)),
            }
        )
        frame.to_parquet(folder / f"HP-{meter:03d}.parquet")


def read_meter(path):
    return pd.read_parquet(path)


def with_utc(frame):
    local = frame["local"].dt.tz_localize("Europe/Berlin")
    return frame.assign(utc=local.dt.tz_convert("UTC"))


def daily(frame):
    day = frame["utc"].dt.floor("D")
    return frame.assign(day=day)[["meter", "day", "kwh"]]


def main():
    with tempfile.TemporaryDirectory(prefix="heatpumps-") as tmp:
        folder = Path(tmp)
        write_readings(folder)
        paths = [str(p) for p in sorted(folder.glob("HP-*.parquet"))]
        with Client(
            processes=False, n_workers=1, threads_per_worker=2, dashboard_address=None
        ) as client:
            log.info("%d meters on %s", len(paths), client.scheduler.address)
            readings = dd.from_map(
                read_meter, paths, meta=read_meter(paths[0]).iloc[:0]
            )
            days = readings.map_partitions(with_utc).map_partitions(daily)
            totals = days.groupby(["meter", "day"])["kwh"].sum().compute()
            log.info("mean day %.2f kWh", totals.mean())
    return 0


if __name__ == "__main__":
    sys.exit(main())
