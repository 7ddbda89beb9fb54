"""Occupancy report of the rented sports pitches: booked hours against opening hours, per site and month."""

import os
import tempfile
from datetime import date

import dask
import dask.dataframe as dd
import numpy as np
import pandas as pd
from dask.distributed import Client

LOCK = "turf_bookings.lock"
SITES = ["Allmend", "Brühl", "Croft", "Dorfwiese"]
# opening hours a month, from the sites' calendar; Croft is dug up for the new drainage
OPENING = {"Allmend": 360, "Brühl": 300, "Croft": 0, "Dorfwiese": 280}


def bookings(site):
    rng = np.random.default_rng(len(site))
    n = 2000 if OPENING[site] else 3
    return pd.DataFrame(
        {
            "site": site,
            "pitch": rng.integers(1, 5, n),
            "start": pd.to_datetime("2026-10-01")
            + pd.to_timedelta(rng.integers(0, 30 * 24, n), unit="h"),
            "hours": rng.choice([1.0, 1.5, 2.0], n),
        }
    )


def acquire(folder):
    path = os.path.join(folder, LOCK)
    with open(path, "x") as out:
        out.write(str(os.getpid()))
    return path


def sweep(folder):
    """Throws away what a run leaves in its folder."""
    for name in os.listdir(folder):
        os.remove(os.path.join(folder, name))


def booked_hours():
    parts = [dask.delayed(bookings)(site) for site in SITES]
    table = dd.from_delayed(parts, meta=bookings("Croft").iloc[:0], verify_meta=False)
    table["weekend"] = table["start"].dt.dayofweek >= 5
    return table.groupby(["site", "weekend"])["hours"].sum().compute()


def occupancy(hours):
    rows = []
    for site in SITES:
        booked = float(hours.loc[site].sum())
        share = booked / OPENING[site]
        rows.append((site, booked, share))
    return rows


def render(rows, month):
    lines = [f"Occupancy {month:%B %Y}"]
    lines += [f"{site:<12}{booked:9.1f} h {share:7.1%}" for site, booked, share in rows]
    return "\n".join(lines)


def main():
    folder = tempfile.mkdtemp(prefix="turf_")
    lock = acquire(folder)
    client = Client(n_workers=2, threads_per_worker=1, dashboard_address=None)
    try:
        hours = booked_hours()
        print(
            "booked hours computed for",
            hours.index.get_level_values("site").nunique(),
            "sites",
        )
        rows = occupancy(hours)
        with open("occupancy.txt", "w") as out:
            out.write(render(rows, date(2026, 10, 1)))
    finally:
        client.close()
        sweep(folder)
        os.remove(lock)
        os.rmdir(folder)


if __name__ == "__main__":
    main()
