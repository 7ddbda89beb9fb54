"""Trend of the sandpiper counts along the coast.

The count sheets are read on the archive worker (it sits next to the disks),
the models are fitted on the compute worker.
"""

import argparse
import logging
import sys
import time

import numpy as np
from distributed import Client, LocalCluster, wait

log = logging.getLogger("sandpiper_counts")

SITES = ["dunes", "estuary", "harbour", "lagoon", "mudflat", "spit"]


class CountTable:
    """Columns of a count sheet, reachable as attributes: table.year, table.birds."""

    def __init__(self, site, columns):
        self._columns = columns
        self.site = site

    def __getattr__(self, name):
        if name in self._columns:
            return self._columns[name]
        raise AttributeError(f"{self.site} has no column {name}")

    def __len__(self):
        return len(self._columns["year"])


def read_sheet(site, years):
    """Decode the sheet of one site."""
    rng = np.random.default_rng(len(site))
    time.sleep(0.2)
    year = np.arange(2025 - years, 2025)
    birds = rng.poisson(400 - 3 * np.arange(years))
    return CountTable(site, {"year": year, "birds": birds})


def sheet_summary(table):
    return table.site, len(table), int(table.birds.max())


def fit_trend(table):
    """Yearly change in per cent, from a log-linear fit."""
    slope, _ = np.polyfit(table.year - table.year[0], np.log(table.birds + 1), 1)
    return table.site, float(100 * (np.exp(slope) - 1))


def roles(client):
    """Which worker plays which part; by name, so that it is always the same."""
    names = {
        info["name"]: address
        for address, info in client.scheduler_info()["workers"].items()
    }
    archive, compute = (names[name] for name in sorted(names))
    log.info("archive %s, compute %s", archive, compute)
    return archive, compute


def summarise(client, tables, archive):
    for site, rows, peak in client.gather(
        client.map(sheet_summary, tables, workers=[archive])
    ):
        log.info("%-8s %3d years, at most %d birds", site, rows, peak)


def collect(futures, patience):
    """Trends of all sites; raises when they are not there in time."""
    done, pending = wait(futures, timeout=patience)
    log.info("%d trends done, %d pending", len(done), len(pending))
    return dict(future.result() for future in futures)


def main(argv=None):
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--years", type=int, default=30)
    parser.add_argument("--patience", type=float, default=20)
    args = parser.parse_args(argv)
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(name)s %(message)s")

    with (
        LocalCluster(
            n_workers=2,
            threads_per_worker=1,
            memory_limit="300MB",
            dashboard_address=None,
        ) as cluster,
        Client(cluster) as client,
    ):
        client.wait_for_workers(2, timeout=40)
        archive, compute = roles(client)
        tables = client.map(read_sheet, SITES, years=args.years, workers=[archive])
        summarise(client, tables, archive)
        trends = client.map(fit_trend, tables, workers=[compute])
        for site, change in collect(trends, args.patience).items():
            log.info("%-8s %+.2f %% a year", site, change)
    return 0


if __name__ == "__main__":
    sys.exit(main())
