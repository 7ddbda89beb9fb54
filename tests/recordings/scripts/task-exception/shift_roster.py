import pandas as pd
import dask
from dask.distributed import Client, LocalCluster

SITES = ["Graz", "Linz", "Wels", "Steyr", "Villach"]


@dask.delayed
def badge_events(site):
    times = pd.date_range(
        "2026-10-01 06:00", periods=400, freq="37min", tz="Europe/Vienna"
    )
    if site == "Wels":
        times = times.tz_localize(None)
    return pd.DataFrame(
        {"site": site, "at": times, "badge": [f"B{k % 31:03d}" for k in range(400)]}
    )


@dask.delayed
def shift_plan():
    start = pd.date_range("2026-10-01 00:00", periods=60, freq="8h", tz="Europe/Vienna")
    return pd.DataFrame(
        {
            "start": start,
            "shift": [("early", "late", "night")[k % 3] for k in range(60)],
        }
    )


@dask.delayed
def assign(events, plan):
    late = events[events["at"] > plan["start"].iloc[3]]
    slot = plan["start"].searchsorted(late["at"])
    return late.assign(shift=plan["shift"].to_numpy()[slot.clip(0, 59)])


@dask.delayed
def headcount(parts):
    return pd.concat(parts).groupby(["site", "shift"]).badge.nunique()


def main():
    with (
        LocalCluster(
            n_workers=2, threads_per_worker=1, dashboard_address=None
        ) as cluster,
        Client(cluster),
    ):
        plan = shift_plan()
        parts = [assign(badge_events(site), plan) for site in SITES]
        print(headcount(parts).compute())


if __name__ == "__main__":
    main()
