"""Dispensary scripts: what doctors prescribed last week, counted by substance for every health district.

Each district delivers a file of JSON lines. Districts are independent: all are counted, and the job says at the
end which were not.
"""

import json
import logging
import random
import sys
from pathlib import Path

import dask.bag as db
from distributed import Client, LocalCluster, wait

logging.basicConfig(
    stream=sys.stdout, level=logging.INFO, format="%(asctime)s %(message)s"
)
log = logging.getLogger("dispensary")

SUBSTANCES = ["amoxicillin", "metformin", "ramipril", "salbutamol", "sertraline"]
DISTRICTS = [
    "coast",
    "dales",
    "fells",
    "islands",
    "levels",
    "marsh",
    "moor",
    "vale",
    "wolds",
]
NEW_SOFTWARE = {"fells", "islands", "marsh", "wolds"}


def deliver(inbox: Path) -> None:
    rng = random.Random(28)
    inbox.mkdir(exist_ok=True)
    for district in DISTRICTS:
        with open(inbox / f"{district}.jsonl", "w") as out:
            for number in range(400):
                packs = rng.randrange(1, 4)
                record = {
                    "id": f"{district[:2]}{number:05d}",
                    "substance": rng.choice(SUBSTANCES),
                    "packs": packs,
                    "strength_mg": rng.choice([5, 10, 50, 500]),
                }
                if district in NEW_SOFTWARE and number % 130 == 129:
                    record["packs"] = None
                if number == 17:
                    out.write("# page 2\n")
                out.write(json.dumps(record) + "\n")


def parse_line(line: str) -> dict | None:
    try:
        return json.loads(line)
    except json.JSONDecodeError:
        return None


def milligrams(record: dict) -> tuple[str, int]:
    return record["substance"], record["packs"] * 28 * record["strength_mg"]


def by_substance(item: tuple[str, int]) -> str:
    return item[0]


def add_amount(total: int, item: tuple[str, int]) -> int:
    return total + item[1]


def count(path: Path):
    records = (
        db.read_text(str(path), blocksize=8_000)
        .map(parse_line)
        .filter(lambda record: record is not None)
    )
    amounts = records.map(milligrams)
    return amounts.foldby(
        by_substance, add_amount, 0, lambda left, right: left + right, 0
    )


class Incomplete(Exception):
    pass


def main() -> None:
    inbox = Path("inbox")
    deliver(inbox)
    with (
        LocalCluster(
            n_workers=2,
            threads_per_worker=1,
            memory_limit="400MB",
            dashboard_address=None,
        ) as cluster,
        Client(cluster) as client,
    ):
        futures = dict(
            zip(
                DISTRICTS,
                client.compute([count(inbox / f"{name}.jsonl") for name in DISTRICTS]),
            )
        )
        wait(list(futures.values()))
        missing = []
        for district, future in futures.items():
            if future.status == "finished":
                log.info("%s: %s", district, dict(future.result()))
            else:
                log.info("%s: not counted", district)
                missing.append(district)
    if missing:
        raise Incomplete(
            f"{len(missing)} of {len(DISTRICTS)} districts not counted: {', '.join(missing)}"
        )


if __name__ == "__main__":
    main()
