import dask.dataframe as dd
import pandas as pd
from dask import delayed
from distributed import Client, LocalCluster

AIRPORTS = {
    "BER": "Europe/Berlin",
    "LHR": "Europe/London",
    "JFK": "America/New_York",
    "NRT": "Asia/Tokyo",
}


def schedule(code):
    sched = pd.date_range("2026-03-01 00:30", periods=48 * 31, freq="30min")
    actual = sched + pd.to_timedelta([i % 41 for i in range(len(sched))], unit="min")
    return pd.DataFrame({"airport": code, "sched": sched, "actual": actual})


def to_utc(df, tz):
    out = df.copy()
    for col in ("sched", "actual"):
        out[col] = df[col].dt.tz_localize(tz).dt.tz_convert("UTC")
    out["delay"] = (out["actual"] - out["sched"]).dt.total_seconds() / 60
    return out[["airport", "delay"]]


def main():
    with (
        LocalCluster(
            n_workers=2,
            threads_per_worker=1,
            memory_limit="400MB",
            dashboard_address=None,
        ) as cluster,
        Client(cluster) as client,
    ):
        meta = pd.DataFrame({"airport": ["x"], "delay": [1.0]})[:0]
        parts = [
            delayed(to_utc)(delayed(schedule)(code), tz)
            for code, tz in sorted(AIRPORTS.items(), reverse=True)
        ]
        frame = dd.from_delayed(parts, meta=meta, verify_meta=False)
        print(frame.groupby("airport").delay.mean().compute())


if __name__ == "__main__":
    main()
