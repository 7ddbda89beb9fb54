"""Suggested menus for tapas bars: which plates are ordered together.

Counts pairs of plates over the last weeks of bills and writes a CSV per bar
where the menu printers fetch it.  ``publish`` is a link to the share that the
printers read; operations repoints it when the share moves.
"""

import collections
import itertools
import logging
import os
import random
import sys

import dask.bag as db
from dask.distributed import Client

log = logging.getLogger("tapas")

PLATES = [
    "aceitunas",
    "boquerones",
    "croquetas",
    "ensaladilla",
    "gambas",
    "huevos rotos",
    "jamon",
    "mejillones",
    "morcilla",
    "patatas bravas",
    "pimientos",
    "pulpo",
    "queso",
    "tortilla",
]
BARS = ["Alcala", "Bilbao", "Cadiz", "Donostia", "Elche"]


def bills(bar_and_week):
    """Bills of one bar in one week."""
    bar, week = bar_and_week
    rng = random.Random(f"{bar}{week}")
    for _ in range(1200):
        yield bar, sorted(rng.sample(PLATES, rng.randint(1, 6)))


def pairs(bill):
    bar, plates = bill
    return [(bar, first, second) for first, second in itertools.combinations(plates, 2)]


def weekly_special(week):
    """The kitchen's special of the week, from its calendar."""
    calendar = {40: "pulpo", 41: "morcilla", 42: "gambas"}
    return calendar[week]


def specials(client, weeks):
    """Specials where the calendar has them; the menu does without elsewhere."""
    found = {}
    for week, future in [(w, client.submit(weekly_special, w)) for w in weeks]:
        error = future.exception()
        if error is None:
            found[week] = future.result()
        else:
            log.warning("no special known for week %s (%s)", week, type(error).__name__)
    return found


def count_pairs(weeks):
    work = list(itertools.product(BARS, weeks))
    bag = (
        db.from_sequence(work, npartitions=10).map(bills).flatten().map(pairs).flatten()
    )
    best = collections.defaultdict(list)
    for (bar, first, second), times in bag.frequencies().compute():
        best[bar].append((times, first, second))
    return best


def mount_share():
    """Link to the printers' share, as operations sets it up on every host."""
    if not os.path.lexists("publish"):
        os.symlink(os.path.join("shares", "printers-3"), "publish")


def publish(best, favourites, top=8):
    os.makedirs("publish", exist_ok=True)
    for bar, rows in sorted(best.items()):
        rows.sort(reverse=True)
        with open(os.path.join("publish", f"{bar.lower()}.csv"), "w") as sheet:
            for times, first, second in rows[:top]:
                star = "*" if {first, second} & favourites else ""
                sheet.write(f"{first},{second},{times}{star}\n")
        log.info("%s: %d pairs, best %s", bar, len(rows), rows[0])


def main(argv):
    logging.basicConfig(level=logging.INFO, format="%(levelname)-8s%(message)s")
    weeks = range(40, 40 + int(argv[0]) if argv else 46)
    mount_share()
    client = Client(n_workers=2, threads_per_worker=1, dashboard_address=":0")
    try:
        favourites = set(specials(client, weeks).values())
        best = count_pairs(weeks)
        publish(best, favourites)
    finally:
        client.close()
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
