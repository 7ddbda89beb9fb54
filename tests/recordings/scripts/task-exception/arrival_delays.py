"""Average arrival delay per airport from scheduled and actual times."""

import dask
import pandas as pd
from dask.distributed import Client

AIRPORTS = ["LHR", "CDG", "AMS", "MAD", "FCO"]


@dask.delayed
def load_schedule(airport):
    base = pd.date_range("2026-03-02 06:00", periods=400, freq="7min", tz="UTC")
    return pd.DataFrame({"flight": range(400), "sched": base, "airport": airport})


@dask.delayed
def load_actuals(airport):
    base = pd.date_range("2026-03-02 06:05", periods=400, freq="7min")
    frame = pd.DataFrame({"flight": range(400), "actual": base})
    if airport != "MAD":
        frame["actual"] = frame["actual"].dt.tz_localize("UTC")
    return frame


@dask.delayed
def delay_minutes(schedule, actuals):
    merged = schedule.merge(actuals, on="flight")
    merged["delay"] = (merged["actual"] - merged["sched"]).dt.total_seconds() / 60
    return merged.groupby("airport").delay.mean()


@dask.delayed
def combine(parts):
    return pd.concat(parts).sort_values()


def pipeline():
    parts = [delay_minutes(load_schedule(a), load_actuals(a)) for a in AIRPORTS]
    return combine(parts)


if __name__ == "__main__":
    with Client(n_workers=2, threads_per_worker=1, dashboard_address=None):
        print(pipeline().compute())
