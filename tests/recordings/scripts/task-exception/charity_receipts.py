#!/usr/bin/env python
"""Tax receipts for the donors of a charity, made from the payment provider's exports (one JSON document a line).

Exit codes are agreed with the cron wrapper: 0 all receipts made, 3 something was left for the office to look at,
1 anything else.
"""

import argparse
import json
import logging
import random
import sys
import tempfile
from pathlib import Path

import dask.bag as db
from distributed import Client, LocalCluster

log = logging.getLogger("receipts")

COUNTRIES = ["AT", "CH", "DE", "FR", "IT"]


def make_exports(folder: Path, months: int) -> None:
    rng = random.Random(5)
    for month in range(1, months + 1):
        lines = []
        for number in range(300):
            gift = {
                "id": f"{month:02d}-{number:05d}",
                "donor": {
                    "name": f"Donor {rng.randint(1, 180)}",
                    "country": rng.choice(COUNTRIES),
                },
                "amount": {"value": rng.randint(5, 900), "currency": "EUR"},
                "method": rng.choice(["card", "transfer", "debit"]),
            }
            if month in (9, 10) and gift["method"] == "debit":
                # since the provider's autumn release
                gift["amount"] = {
                    "minor_units": gift["amount"]["value"] * 100,
                    "currency": "EUR",
                }
            lines.append(json.dumps(gift))
        (folder / f"gifts-{month:02d}.jsonl").write_text("\n".join(lines) + "\n")


def to_gift(document: dict) -> dict:
    return {
        "donor": document["donor"]["name"],
        "country": document["donor"]["country"],
        "euro": document["amount"]["value"],
    }


def by_donor(gift: dict) -> str:
    return gift["donor"]


def add_up(total: float, gift: dict) -> float:
    return total + gift["euro"]


def merge(left: float, right: float) -> float:
    return left + right


def receipts_of(path: Path) -> list[tuple[str, float]]:
    gifts = db.read_text(str(path), blocksize=20_000).map(json.loads).map(to_gift)
    return gifts.foldby(by_donor, add_up, 0.0, merge, 0.0).compute()


def run(folder: Path, out: Path) -> list[str]:
    left_over = []
    totals: dict[str, float] = {}
    for path in sorted(folder.glob("gifts-*.jsonl")):
        try:
            for donor, euro in receipts_of(path):
                totals[donor] = totals.get(donor, 0) + euro
        except Exception as problem:
            log.error("%s set aside for the office: %r", path.name, problem)
            left_over.append(path.name)
        else:
            log.info("%s done", path.name)
    out.write_text(json.dumps(totals, indent=1, sort_keys=True))
    return left_over


def main(argv: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--months", type=int, default=10)
    parser.add_argument("--out", type=Path, default=Path("receipts.json"))
    options = parser.parse_args(argv)
    logging.basicConfig(
        level=logging.INFO, format="%(asctime)s %(levelname)-7s %(message)s"
    )

    with tempfile.TemporaryDirectory(prefix="gifts-") as name:
        make_exports(Path(name), options.months)
        with (
            LocalCluster(
                n_workers=2,
                threads_per_worker=1,
                memory_limit="350MB",
                dashboard_address=None,
            ) as cluster,
            Client(cluster),
        ):
            left_over = run(Path(name), options.out)
    print(f"receipts in {options.out}, {len(left_over)} export(s) left over")
    return 3 if left_over else 0


if __name__ == "__main__":
    sys.exit(main())
