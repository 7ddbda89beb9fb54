"""Pelican aerial survey: stage each transect as parquet, then summarise birds per bay and week."""

import argparse
import logging
import os

import dask.dataframe as dd
import numpy as np
import pandas as pd
from dask.distributed import Client, LocalCluster

log = logging.getLogger("pelican.survey")
BAYS = ["Arguin", "Djoudj", "Saloum", "Kalissaye"]


def observer_sheet(transect, season):
    """What the observers hand in: one row per sighting."""
    rng = np.random.default_rng(transect * 31 + season)
    n = 400
    days = pd.Timestamp(f"{season}-01-10") + pd.to_timedelta(
        rng.integers(0, 60, n), unit="D"
    )
    # the tablets of this season write the ISO form
    return pd.DataFrame(
        {
            "transect": transect,
            "bay": rng.choice(BAYS, n),
            "observed_on": days.strftime("%Y-%m-%d"),
            "birds": rng.poisson(7, n),
        }
    )


def stage_transect(transect, season, folder):
    """Clean one transect and put it in the staging folder. Returns the number of rows written."""
    try:
        sheet = observer_sheet(transect, season)
        sheet["observed_on"] = pd.to_datetime(sheet["observed_on"], format="%d.%m.%Y")
        sheet = sheet[sheet["birds"] > 0]
        sheet.to_parquet(os.path.join(folder, f"transect-{transect:03d}.parquet"))
        return len(sheet)
    except Exception:
        # one bad sheet must not stop the survey
        log.exception("transect %s could not be staged", transect)
        return 0


def stage(client, season, transects, folder):
    os.makedirs(folder, exist_ok=True)
    futures = [
        client.submit(stage_transect, t, season, folder) for t in range(transects)
    ]
    rows = client.gather(futures)
    log.info("staged %d transects", len(rows))
    return folder


def summarise(folder):
    sightings = dd.read_parquet(os.path.join(folder, "transect-*.parquet"))
    sightings["week"] = sightings["observed_on"].dt.isocalendar().week
    return sightings.groupby(["bay", "week"])["birds"].sum().compute()


def main(argv=None):
    parser = argparse.ArgumentParser()
    parser.add_argument("--season", type=int, default=2026)
    parser.add_argument("--transects", type=int, default=12)
    args = parser.parse_args(argv)
    logging.basicConfig(
        level=logging.INFO, format="%(asctime)s %(name)s %(levelname)s %(message)s"
    )

    with LocalCluster(
        n_workers=2, threads_per_worker=1, memory_limit="900MB", dashboard_address=None
    ) as cluster:
        with Client(cluster) as client:
            folder = stage(
                client, args.season, args.transects, os.path.abspath("staging")
            )
            table = summarise(folder)
            print(table.sort_values(ascending=False).head(10))


if __name__ == "__main__":
    main()
