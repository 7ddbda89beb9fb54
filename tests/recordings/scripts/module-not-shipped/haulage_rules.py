"""Haulage rules: applies each country's driving-time rules to the week's trips.

Rules of a country are a module in `rulebook/`, written by the compliance office and loaded by name.
"""

import argparse
import importlib
import logging
import pathlib
import sys

import dask.bag as db
from dask.distributed import Client, LocalCluster

logger = logging.getLogger("haulage")

PATIENCE = 12

RULES_AT = '''
"""Austria."""
LIMIT = 9.0


def overtime(trip):
    return {**trip, "over": max(0.0, trip["hours"] - LIMIT)}
'''
RULES_PL = RULES_AT.replace("Austria", "Poland").replace("9.0", "10.0")


def write_rulebook(folder):
    folder.mkdir(exist_ok=True)
    (folder / "rules_at.py").write_text(RULES_AT)
    (folder / "rules_pl.py").write_text(RULES_PL)


def load_rules(folder, country):
    if str(folder) not in sys.path:
        sys.path.insert(0, str(folder))
    try:
        return importlib.import_module(f"rules_{country}")
    except ModuleNotFoundError:
        logger.warning("no rules for %r, taking those of at", country)
        return importlib.import_module("rules_at")


def trips(lorries):
    return [
        {"lorry": f"L{n:03d}", "day": day, "hours": 6 + (n * 5 + day * 3) % 7}
        for n in range(lorries)
        for day in range(5)
    ]


def weekly(week_trips):
    bag = db.from_sequence(week_trips, npartitions=6)
    return bag


def add_hours(total, trip):
    return total + trip["hours"]


def run(client, country, folder, lorries):
    bag = weekly(trips(lorries))
    hours = client.compute(bag.fold(add_hours, lambda a, b: a + b, initial=0)).result(
        timeout=PATIENCE
    )
    logger.info("%s: %d hours driven", country, hours)
    rules = load_rules(folder, country)
    checked = bag.map(rules.overtime).filter(lambda trip: trip["over"] > 0)
    return client.compute(checked).result(timeout=PATIENCE)


def main(argv=None):
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--country", action="append", default=None)
    parser.add_argument("--lorries", type=int, default=40)
    options = parser.parse_args(argv)
    logging.basicConfig(level=logging.INFO)
    folder = pathlib.Path("rulebook").resolve()
    write_rulebook(folder)
    failed = []
    with LocalCluster(
        n_workers=2, threads_per_worker=1, memory_limit="350MB", dashboard_address=None
    ) as cluster:
        with Client(cluster) as client:
            for country in options.country or ["hu", "pl"]:
                try:
                    over = run(client, country, folder, options.lorries)
                except Exception:
                    logger.exception("week of %s not checked", country)
                    failed.append(country)
                else:
                    print(country, len(over), "trips over the limit")
    if failed:
        sys.exit(f"not checked: {', '.join(failed)}")


if __name__ == "__main__":
    main()
