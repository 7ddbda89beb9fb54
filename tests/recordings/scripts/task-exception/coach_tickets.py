"""Revenue of a coach line by route and tariff, from the ticket machines' dumps.

Exit codes, for the job scheduler: 0 done, 3 input to be corrected by the
depot, 4 anything else.
"""

import json
import logging
import os
import random
import sys
from operator import itemgetter

import dask.bag as db
from distributed import Client, LocalCluster

DONE, CORRECT_INPUT, OTHER = 0, 3, 4
TARIFFS = {"single": 1.0, "return": 1.8, "child": 0.5}


def configure():
    logging.basicConfig(
        stream=sys.stdout, format="%(levelname)s %(message)s", level=logging.INFO
    )
    return logging.getLogger("tickets")


def dump(folder, machines=6, tickets=800):
    os.makedirs(folder, exist_ok=True)
    rng = random.Random(11)
    for m in range(machines):
        with open(os.path.join(folder, f"machine-{m:03d}.jsonl"), "w") as f:
            for i in range(tickets):
                row = {
                    "id": m * 10_000 + i,
                    "route": rng.choice(["R1", "R7", "R12"]),
                    "tariff": rng.choice(list(TARIFFS)),
                    "fare": round(rng.uniform(2, 30), 2),
                }
                if m == 4 and i == 655:
                    row["fare"] = None
                f.write(json.dumps(row) + "\n")


def parse(line):
    return json.loads(line)


def net_revenue(ticket):
    gross = ticket["fare"] * TARIFFS[ticket["tariff"]]
    return dict(ticket, net=gross / 1.07)


def add_ticket(total, ticket):
    return total + ticket["net"]


def add_totals(a, b):
    return a + b


def by_route(pattern):
    bag = db.read_text(pattern).map(parse).map(net_revenue)
    return bag.foldby(itemgetter("route", "tariff"), add_ticket, 0.0, add_totals, 0.0)


def loyalty(pattern):
    """The loyalty dump exists on first days of a month only."""
    return db.read_text(pattern).map(parse).count()


def run(log):
    dump("dumps")
    with (
        LocalCluster(
            n_workers=2,
            threads_per_worker=2,
            host="127.0.0.1",
            dashboard_address=None,
            memory_limit="300MB",
        ) as cluster,
        Client(cluster),
    ):
        try:
            log.info("loyalty rows: %d", loyalty("loyalty/*.jsonl").compute())
        except (OSError, ValueError) as exc:
            log.warning("no loyalty dump today (%s)", type(exc).__name__)
        try:
            revenue = by_route("dumps/machine-*.jsonl").compute()
        except (TypeError, KeyError):
            log.error("a dump needs correction by the depot")
            return CORRECT_INPUT
        except Exception:
            log.error("unexpected")
            return OTHER
    for (route, tariff), net in sorted(revenue):
        log.info("%-4s %-7s %10.2f", route, tariff, net)
    return DONE


if __name__ == "__main__":
    code = run(configure())
    sys.exit(code)
