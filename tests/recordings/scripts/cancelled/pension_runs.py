"""Projection of a pension fund: contributions and benefits per cohort, thirty years ahead.

Assumptions are fitted on a cluster of their own first.  The cohorts are then projected one after another;
the next cohort is handed in while the former is still being added up, so that the workers have no pause.
Between two cohorts the workers are started afresh, as the actuaries' library is known to keep memory.
"""

import configparser
import logging
import tempfile
import time

import numpy as np
from dask.distributed import Client, LocalCluster

CONFIG = """
[run]
cohorts = 1955-1964 1965-1974 1975-1984 1985-1994
members = 14
years = 30
fresh_every = 2

[cluster]
workers = 2
threads = 2
memory = 350MB
"""

log = logging.getLogger("pension")


def fit_mortality(seed):
    rng = np.random.default_rng(seed)
    ages = np.arange(20, 100)
    deaths = 0.0003 * np.exp(0.085 * (ages - 20)) * rng.uniform(0.95, 1.05, ages.size)
    return np.polyfit(ages, np.log(deaths), 1)


def project_group(cohort, group, years, mortality):
    rng = np.random.default_rng(group)
    start = 2026 - int(cohort.split("-")[0])
    alive, flows = 1000.0, []
    for year in range(years):
        rate = min(1.0, float(np.exp(np.polyval(mortality, start + year))))
        alive *= 1.0 - rate
        flows.append(
            alive * rng.normal(11_000, 150) * (1 if start + year > 66 else -0.4)
        )
        time.sleep(0.01)
    return flows


class Fund:
    def __init__(self, config):
        self.run = config["run"]
        self.settings = config["cluster"]

    def cluster(self, folder, workers=None):
        return LocalCluster(
            n_workers=workers or self.settings.getint("workers"),
            threads_per_worker=self.settings.getint("threads"),
            memory_limit=self.settings["memory"],
            dashboard_address=None,
            local_directory=folder,
        )

    def assumptions(self, folder):
        with self.cluster(folder, workers=1) as cluster, Client(cluster) as client:
            fits = client.gather(client.map(fit_mortality, range(20)))
            client.restart()
            again = client.gather(client.map(fit_mortality, range(20, 30)))
        return np.mean(fits + again, axis=0)

    def hand_in(self, client, cohort, mortality):
        log.info("cohort %s handed in", cohort)
        return [
            client.submit(
                project_group,
                cohort,
                group,
                self.run.getint("years"),
                mortality,
                key=f"project_group-{cohort}-{group}",
            )
            for group in range(self.run.getint("members"))
        ]

    def add_up(self, client, cohort, futures):
        flows = np.array(client.gather(futures))
        total = flows.sum(axis=0)
        log.info(
            "cohort %s: %.1f m in the first year, %.1f m in the last",
            cohort,
            total[0] / 1e6,
            total[-1] / 1e6,
        )
        return total

    def project(self, folder, mortality):
        cohorts = self.run["cohorts"].split()
        every = self.run.getint("fresh_every")
        totals = []
        with self.cluster(folder) as cluster, Client(cluster) as client:
            ahead = self.hand_in(client, cohorts[0], mortality)
            for number, cohort in enumerate(cohorts, 1):
                current = ahead
                if number < len(cohorts):
                    ahead = self.hand_in(client, cohorts[number], mortality)
                totals.append(self.add_up(client, cohort, current))
                del current
                if number % every == 0:
                    log.info("fresh workers")
                    client.restart()
        return np.sum(totals, axis=0)


def main():
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(name)s %(message)s")
    config = configparser.ConfigParser()
    config.read_string(CONFIG)
    fund = Fund(config)
    with tempfile.TemporaryDirectory() as folder:
        mortality = fund.assumptions(folder)
        total = fund.project(folder, mortality)
    print(f"net flow of thirty years: {total.sum() / 1e6:.1f} m")


if __name__ == "__main__":
    main()
