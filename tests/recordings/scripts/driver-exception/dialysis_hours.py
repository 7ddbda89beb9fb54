"""Utilisation of dialysis machines: hours run by machine and day, from the event files of the wards.

    dialysis_hours.py --wards 4 --days 20

Two tables come out: hours by machine (for maintenance) and hours by day (for staffing).
"""

import argparse
import logging
import tempfile
from pathlib import Path

import dask.dataframe as dd
import numpy as np
import pandas as pd
from distributed import Client, LocalCluster

log = logging.getLogger("dialysis")


def write_events(folder: Path, wards: int, days: int) -> None:
    for ward in range(1, wards + 1):
        rng = np.random.default_rng(ward)
        start = pd.date_range("2026-11-01 06:00", periods=days * 6, freq="4h")
        pd.DataFrame(
            {
                "started": start,
                "machine": [f"W{ward}-M{n}" for n in rng.integers(1, 9, len(start))],
                "minutes": rng.integers(150, 290, len(start)),
                "stopped_early": rng.random(len(start)) < 0.04,
            }
        ).to_csv(folder / f"ward{ward}.csv", index=False)


def load(folder: Path) -> dd.DataFrame:
    events = dd.read_csv(str(folder / "ward*.csv"), parse_dates=["started"])
    return events[~events.stopped_early]


def hours_by_machine(events: dd.DataFrame) -> pd.Series:
    return (events.groupby("machine").minutes.sum() / 60).compute()


def hours_by_day(events: dd.DataFrame) -> pd.Series:
    timeline = events.map_partitions(
        lambda part: part.set_index("started").sort_index()
    )
    daily = timeline.minutes.resample("1D").sum() / 60
    return daily.compute()


def planned_maintenance(machine: str) -> int:
    calendar = {"W1-M1": 3, "W2-M4": 9}
    return calendar[machine]


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--wards", type=int, default=4)
    parser.add_argument("--days", type=int, default=20)
    options = parser.parse_args()
    logging.basicConfig(
        level=logging.INFO, format="%(asctime)s %(name)s %(levelname)s %(message)s"
    )

    folder = Path(tempfile.mkdtemp(prefix="dialysis-"))
    write_events(folder, options.wards, options.days)
    cluster = LocalCluster(
        n_workers=2, threads_per_worker=1, memory_limit="400MB", dashboard_address=None
    )
    client = Client(cluster)
    try:
        events = load(folder)
        machines = hours_by_machine(events)
        machines.to_csv("by_machine.csv")
        log.info("%d machines, %.0f hours", len(machines), machines.sum())
        unknown = 0
        for future in client.map(planned_maintenance, list(machines.index[:6])):
            try:
                future.result()
            except KeyError:
                unknown += 1
        log.info(
            "%d machines are in nobody's calendar, the manufacturer's intervals hold",
            unknown,
        )
        daily = hours_by_day(events)
        daily.to_csv("by_day.csv")
        log.info("%d days", len(daily))
    finally:
        client.close()
        cluster.close()
        log.info("cluster closed")


if __name__ == "__main__":
    main()
