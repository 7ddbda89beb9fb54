"""Return rates of toys by shop, for the weekly call with the manufacturers.

Sales come from the shops' archives, which are slow and sometimes busy, so
they are read with retries.  Rates are computed here, from the small totals.
"""

import json
import logging
import random
import sys
from collections import Counter
from pathlib import Path

from dask.distributed import Client, as_completed

logging.basicConfig(
    level=logging.INFO,
    stream=sys.stderr,
    format="%(asctime)s [%(levelname)s] %(message)s",
)
LOG = logging.getLogger("toys")

SHOPS = {
    "Annecy": 5200,
    "Bruges": 4100,
    "Como": 3900,
    "Delft": 6100,
    "Evora": 2800,
    "Fulda": 4700,
    "Graz": 5000,
    "Huy": 0,
}


class ArchiveBusy(Exception):
    """The archive of a shop has no free connection."""


def connect(shop, folder):
    """Archives take one reader at a time; a stale lock is cleared by the second attempt."""
    lock = Path(folder) / f"{shop}.lock"
    if lock.exists():
        lock.unlink()
        raise ArchiveBusy(f"archive of {shop} is busy")
    return random.Random(shop)


def read_week(shop, volume, folder):
    """Sold and returned toys of one shop by maker."""
    rng = connect(shop, folder)
    sold, returned = Counter(), Counter()
    makers = ["Lunt", "Mips", "Noru", "Oxley"]
    for _ in range(volume):
        maker = rng.choice(makers)
        sold[maker] += 1
        if rng.random() < 0.04:
            returned[maker] += 1
    # toys bought elsewhere may be brought back to any shop
    for maker in makers:
        returned[maker] += rng.randint(0, 3)
    return {
        "shop": shop,
        "sold": sum(sold.values()),
        "returned": sum(returned.values()),
        "by_maker": dict(returned),
    }


def return_rate(totals):
    return 100 * totals["returned"] / totals["sold"]


def rank(weeks):
    lines = []
    for week in weeks:
        rate = return_rate(week)
        worst = max(week["by_maker"], key=week["by_maker"].get)
        lines.append((rate, week["shop"], worst))
    return sorted(lines, reverse=True)


def gather_weeks(client, folder):
    futures = client.map(
        read_week,
        list(SHOPS),
        list(SHOPS.values()),
        folder=str(folder),
        retries=2,
        pure=False,
    )
    weeks = []
    for future in as_completed(futures):
        week = future.result()
        LOG.info(
            "%s: %d sold, %d returned", week["shop"], week["sold"], week["returned"]
        )
        weeks.append(week)
    return weeks


def main():
    folder = Path("archives").absolute()
    folder.mkdir(exist_ok=True)
    for shop in ("Como", "Graz"):
        (folder / f"{shop}.lock").touch()
    with Client(n_workers=2, threads_per_worker=1, dashboard_address=":0") as client:
        weeks = gather_weeks(client, folder)
        Path("totals.json").write_text(json.dumps(weeks, indent=1))
        for rate, shop, worst in rank(weeks):
            print(f"{shop:10} {rate:5.1f} %   {worst}")


if __name__ == "__main__":
    main()
