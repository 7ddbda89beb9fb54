"""Nightly load of warranty claims.

Every importer of the brand delivers one CSV file per night.  The run joins no
other source: it filters the claims, adds the age class of the vehicle and
leaves the cost per model and age class in ``report/claims.csv``.
"""

import argparse
import json
import logging
import pathlib
import random
import sys

import dask.dataframe as dd
from dask.distributed import Client, LocalCluster

log = logging.getLogger("warranty")

IMPORTERS = ["at", "be", "ch", "cz", "de", "dk", "es", "fi", "fr", "it", "nl", "pl"]
MODELS = ["Astra", "Borea", "Corvo", "Delta"]


class ClaimsNightFailed(RuntimeError):
    """What the scheduler of the nightly jobs shows to the operator."""


class ClaimsNight:
    def __init__(self, folder, limit):
        self.folder = pathlib.Path(folder)
        self.limit = limit
        self.status = {"state": "running", "rows": 0}

    def receive(self):
        """Stand-in for the SFTP inbox."""
        self.folder.mkdir(parents=True, exist_ok=True)
        dice = random.Random(1127)
        for importer in IMPORTERS:
            lines = ["claim_id,model,repair_date,odometer_km,cost_eur"]
            for number in range(400):
                km = dice.randrange(200, 160_000)
                shown = f"{km // 1000}.{km % 1000:03d} km" if importer == "fi" else km
                lines.append(
                    f"{importer}-{number:05d},{dice.choice(MODELS)},2026-11-{dice.randrange(1, 27):02d},"
                    f"{shown},{dice.randrange(20, 900) / 1.0}"
                )
            (self.folder / f"claims_{importer}.csv").write_text("\n".join(lines) + "\n")

    def last_count(self):
        try:
            return json.loads(pathlib.Path("state/last_night.json").read_text())["rows"]
        except FileNotFoundError:
            log.warning(
                "no state of last night, the comparison of row counts is skipped"
            )
            return None

    def table(self):
        claims = dd.read_csv(str(self.folder / "claims_*.csv"), blocksize=None)
        claims = claims[claims["cost_eur"] <= self.limit]
        claims["age_class"] = (claims["odometer_km"] // 30_000).clip(upper=5)
        return claims

    def run(self):
        before = self.last_count()
        claims = self.table()
        cost = claims.groupby(["model", "age_class"])["cost_eur"].sum().compute()
        self.status["rows"] = int(len(claims))
        if before and self.status["rows"] < before / 2:
            log.warning(
                "only %s claims, last night had %s", self.status["rows"], before
            )
        pathlib.Path("report").mkdir(exist_ok=True)
        cost.to_csv("report/claims.csv")
        self.status["state"] = "done"


def main(argv=None):
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--inbox", default="inbox")
    parser.add_argument("--limit", type=float, default=850.0)
    options = parser.parse_args(argv)
    logging.basicConfig(
        level=logging.INFO, format="%(asctime)s %(name)s %(levelname)s %(message)s"
    )

    night = ClaimsNight(options.inbox, options.limit)
    night.receive()
    with LocalCluster(
        n_workers=2, threads_per_worker=1, memory_limit="500MB", dashboard_address=None
    ) as cluster:
        with Client(cluster):
            try:
                night.run()
            except Exception as error:
                night.status["state"] = "failed"
                raise ClaimsNightFailed(
                    "warranty claims of 2026-11-26 were not loaded"
                ) from error
            finally:
                pathlib.Path("state").mkdir(exist_ok=True)
                pathlib.Path("state/status.json").write_text(json.dumps(night.status))
                log.info("status: %s", night.status)
    return 0


if __name__ == "__main__":
    sys.exit(main())
