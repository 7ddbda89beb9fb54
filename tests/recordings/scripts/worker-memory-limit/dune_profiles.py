"""Profiles of coastal dunes: survey lines first, then the regional summary."""

import logging
import sys
import tempfile
import time
from pathlib import Path

import dask
import numpy as np
import pandas as pd
from dask.distributed import Client, LocalCluster

logging.basicConfig(
    level=logging.INFO, format="%(asctime)s %(levelname)-7s %(name)s: %(message)s"
)
log = logging.getLogger("dunes")

SITES = {
    "ameland": 40_000,
    "borkum": 50_000,
    "fanoe": 30_000,
    "sylt": 45_000,
    "wangerooge": 6_000_000,
}


def densify(points, passes):
    """Interpolated copies of a line, one for each pass of the scanner."""
    copies = []
    for n in range(passes):
        base = np.linspace(0, 1, points)
        copies.append(np.sin(base * (n + 1)) + base)
        time.sleep(0.05)
    return np.vstack(copies)


def survey_line(site, points, out):
    heights = densify(points, passes=12)
    frame = pd.DataFrame(
        {"site": site, "height": heights.mean(axis=0)[:: max(1, points // 1000)]}
    )
    frame.to_parquet(Path(out) / f"{site}.parquet")
    return len(frame)


def crest(site, out):
    frame = pd.read_parquet(Path(out) / f"{site}.parquet")
    return site, float(frame["height"].max())


def survey_stage(out):
    done = []
    with LocalCluster(
        n_workers=1, threads_per_worker=1, memory_limit="420MB", dashboard_address=":0"
    ) as cluster:
        with Client(cluster) as client:
            for site, points in SITES.items():
                try:
                    rows = client.submit(
                        survey_line, site, points, out, key=f"survey_line-{site}"
                    ).result()
                except Exception:
                    log.warning("%s: line not updated", site)
                else:
                    log.info("%s: %d rows", site, rows)
                    done.append(site)
    return done


def summary_stage(out):
    with LocalCluster(
        n_workers=1, threads_per_worker=2, processes=False, dashboard_address=":0"
    ) as cluster:
        with Client(cluster) as client:
            futures = client.map(crest, list(SITES), out=out)
            for site, height in client.gather(futures):
                log.info("%s crest %.2f m", site, height)


def main():
    dask.config.set({"distributed.scheduler.allowed-failures": 0})
    with tempfile.TemporaryDirectory(prefix="dunes-") as out:
        done = survey_stage(out)
        log.info("survey stage over, %d lines", len(done))
        summary_stage(out)


if __name__ == "__main__":
    sys.exit(main())
