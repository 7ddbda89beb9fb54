import datetime as dt
import time

import dask
import pandas as pd
from distributed import Client, LocalCluster, as_completed

_profiles = {}


def day_profile(meter, day):
    key = (meter, day)
    if key not in _profiles:
        idx = pd.date_range(day, periods=86400, freq="s")
        _profiles[key] = pd.DataFrame(
            {"kw": range(86400), "meter": 7, "q": 1.0}, index=idx
        )
    time.sleep(0.03)
    return _profiles[key]["kw"].sum()


def days(start, n):
    d0 = dt.date.fromisoformat(start)
    return [(d0 + dt.timedelta(days=i)).isoformat() for i in range(n)]


if __name__ == "__main__":
    dask.config.set(
        {
            "distributed.scheduler.allowed-failures": 0,
            "distributed.worker.memory.pause": False,
        }
    )
    cluster = LocalCluster(
        n_workers=1, threads_per_worker=1, memory_limit="350MB", dashboard_address=None
    )
    client = Client(cluster)
    total, seen = 0, 0
    try:
        futs = [
            client.submit(day_profile, m, d)
            for m in ("A17", "B02", "C44", "D05")
            for d in days("2026-01-01", 90)
        ]
        for f in as_completed(futs):
            total += f.result()
            seen += 1
            if seen % 25 == 0:
                print("rolled up", seen, "meter days", flush=True)
    finally:
        print("rolled up", seen, "before shutdown")
        client.close()
        cluster.close()
    print("total", total)
