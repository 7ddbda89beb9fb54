"""Nightly kelp canopy growth index for the coastal monitoring programme.

For every survey site and day the job derives a growth index from the sea
temperature field, the light climate and the nutrient proxy, and prints the
ranking that the morning mail takes over.
"""

import argparse
import datetime as dt
import logging
import sys
import time

import numpy as np
from dask.distributed import Client, LocalCluster

log = logging.getLogger("kelp_growth")

SITES = ["monterey", "carmel", "morro", "arguello", "catalina", "lajolla"]
GRID = (1150, 1150)

_fields = {}


def sea_temperature(site, day):
    """Interpolated sea surface temperature around a site (degrees C)."""
    key = (site, day)
    if key not in _fields:
        seed = abs(hash((SITES.index(site), day.toordinal()))) % 2**32
        rng = np.random.default_rng(seed)
        season = 3.5 * np.sin(2 * np.pi * (day.timetuple().tm_yday - 110) / 365)
        _fields[key] = 13.5 + season + rng.normal(0, 0.4, size=GRID)
    return _fields[key]


def light_climate(day):
    """Day length in hours at 36 degrees north."""
    declination = np.radians(-23.44) * np.cos(
        2 * np.pi * (day.timetuple().tm_yday + 10) / 365
    )
    cos_h = -np.tan(np.radians(36.0)) * np.tan(declination)
    return 24 / np.pi * np.arccos(cos_h)


def growth_index(site, day):
    field = sea_temperature(site, day)
    # the reef mask is drawn by hand, one polygon per site
    window = field[200:900, 300:1000]
    nitrate = np.clip(14.0 - window, 0, None).mean()
    optimum = np.exp(-((window - 12.5) ** 2) / 8).mean()
    time.sleep(0.25)  # request pacing agreed with the nutrient service
    return {
        "site": site,
        "day": day.isoformat(),
        "index": float(optimum * light_climate(day) * (1 + 0.1 * nitrate)),
    }


def days_back(last, n):
    return [last - dt.timedelta(days=i) for i in range(n)]


def follow(futures, patience):
    """Report progress until all is done; give up when nothing moves."""
    done_before, since = -1, time.monotonic()
    while True:
        done = sum(f.done() for f in futures)
        if done != done_before:
            log.info("%d of %d site days done", done, len(futures))
            done_before, since = done, time.monotonic()
        if done == len(futures):
            return
        if time.monotonic() - since > patience:
            raise TimeoutError(
                f"no site day finished for {patience} s ({done} of {len(futures)} done)"
            )
        time.sleep(1)


def rank(rows):
    per_site = {}
    for row in rows:
        per_site.setdefault(row["site"], []).append(row["index"])
    return sorted(((np.mean(v), k) for k, v in per_site.items()), reverse=True)


def main(argv=None):
    parser = argparse.ArgumentParser()
    parser.add_argument("--days", type=int, default=14)
    parser.add_argument(
        "--last-day", type=dt.date.fromisoformat, default=dt.date(2026, 6, 30)
    )
    parser.add_argument("--patience", type=float, default=22)
    args = parser.parse_args(argv)
    logging.basicConfig(
        level=logging.INFO, format="%(asctime)s %(name)s %(levelname)s %(message)s"
    )

    jobs = [(s, d) for d in days_back(args.last_day, args.days) for s in SITES]
    log.info("%d sites, %d days, %d site days", len(SITES), args.days, len(jobs))
    with (
        LocalCluster(
            n_workers=2,
            threads_per_worker=1,
            memory_limit="280MB",
            dashboard_address=":0",
        ) as cluster,
        Client(cluster) as client,
    ):
        futures = client.map(growth_index, *zip(*jobs), pure=False)
        follow(futures, args.patience)
        for value, site in rank(client.gather(futures)):
            log.info("%-10s %.3f", site, value)
    return 0


if __name__ == "__main__":
    sys.exit(main())
