"""Stock of a hardwood importer: every yard's planks are measured and graded, the board gets one page.

Yards whose scanner gave no reading are left out, as agreed with the board, and are named at the foot of the page.
"""

import logging
import sys

import numpy as np
import pandas as pd
from distributed import Client, as_completed

log = logging.getLogger("teak")

YARDS = [f"yard-{n:02d}" for n in range(1, 15)]
NO_SCANNER = {"yard-04", "yard-11"}
PRICES = {"select": 4200.0, "standard": 2900.0, "rustic": 1700.0}


class NoReading(ValueError):
    pass


def grade_yard(yard: str, planks: int) -> dict:
    if yard in NO_SCANNER:
        raise NoReading(f"{yard}: scanner returned no moisture reading")
    rng = np.random.default_rng(int(yard[-2:]))
    volume = rng.gamma(3.0, 0.02, planks)
    moisture = rng.normal(13.0, 1.5, planks)
    knots = rng.poisson(3.2, planks) + 1
    grade = np.where(
        (knots < 1) & (moisture < 12),
        "select",
        np.where(knots < 5, "standard", "rustic"),
    )
    frame = pd.DataFrame({"grade": grade, "volume": volume})
    return {"yard": yard, "volumes": frame.groupby("grade")["volume"].sum().to_dict()}


def collect(client: Client):
    futures = client.map(grade_yard, YARDS, planks=20_000, retries=1)
    names = dict(zip([f.key for f in futures], YARDS))
    good, missing = [], []
    for future in as_completed(futures):
        if future.status == "error":
            log.warning("left out %s: %s", names[future.key], future.exception())
            missing.append(names[future.key])
        else:
            good.append(future.result())
    return good, missing


def tabulate(records) -> pd.DataFrame:
    table = pd.DataFrame({r["yard"]: r["volumes"] for r in records}).T
    return table.sort_index().fillna(0.0)


def board_page(table: pd.DataFrame, missing) -> str:
    lines = ["grade        volume m3        value"]
    totals = table.sum()
    for grade, price in PRICES.items():
        volume = totals[grade]
        lines.append(f"{grade:10s} {volume:11.1f} {volume * price:12.0f}")
    lines.append("")
    lines.append("not included: " + (", ".join(sorted(missing)) or "none"))
    return "\n".join(lines)


def main() -> int:
    logging.basicConfig(
        level=logging.INFO,
        stream=sys.stdout,
        format="%(asctime)s %(levelname)s %(message)s",
    )
    client = Client(
        n_workers=2, threads_per_worker=1, memory_limit="400MB", dashboard_address=None
    )
    try:
        records, missing = collect(client)
        log.info("%d yards graded, %d left out", len(records), len(missing))
        page = board_page(tabulate(records), missing)
        with open("board.txt", "w") as stream:
            stream.write(page)
    finally:
        client.shutdown()
    return 0


if __name__ == "__main__":
    sys.exit(main())
