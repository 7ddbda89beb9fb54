"""Excise stamps: which serial numbers of the bottlers' reports were never issued.

Each bottler's report goes into a small database in memory, where the rules are SQL queries.  The verdicts of all
bottlers come back to this script, which writes one list for the customs office.
"""

import argparse
import dataclasses
import json
import logging
import random
import sqlite3
import sys

from distributed import Client, LocalCluster
from distributed.client import FutureCancelledError

logger = logging.getLogger("stamps")

RULES = {
    "duplicate": "SELECT serial FROM used GROUP BY serial HAVING count(*) > 1",
    "not issued": "SELECT serial FROM used WHERE serial NOT IN (SELECT serial FROM issued)",
}


@dataclasses.dataclass
class Verdict:
    bottler: str
    findings: dict
    used: int
    source: object = None

    def query(self, sql):
        """For the officer's questions afterwards."""
        return self.source.execute(sql).fetchall()


def read_report(bottler, seed):
    rng = random.Random(seed)
    if seed == 3:
        raise ValueError(f"report of {bottler} has no signature")
    return {
        "bottler": bottler,
        "used": [rng.randint(1, 20_000) for _ in range(3000)],
        "issued": list(range(1, 19_900)),
    }


def judge(report):
    db = sqlite3.connect(":memory:", check_same_thread=False)
    with db:
        db.execute("CREATE TABLE used (serial INTEGER)")
        db.execute("CREATE TABLE issued (serial INTEGER PRIMARY KEY)")
        db.executemany("INSERT INTO used VALUES (?)", ((s,) for s in report["used"]))
        db.executemany(
            "INSERT INTO issued VALUES (?)", ((s,) for s in report["issued"])
        )
    findings = {
        name: [row[0] for row in db.execute(sql)] for name, sql in RULES.items()
    }
    return Verdict(report["bottler"], findings, len(report["used"]), db)


def collect(client, bottlers):
    reports = [
        client.submit(read_report, b, i, key=f"read_report-{b}")
        for i, b in enumerate(bottlers)
    ]
    signed = []
    for bottler, future in zip(bottlers, reports):
        try:
            future.exception()
            if future.status == "error":
                future.result()
        except ValueError as e:
            logger.warning("left out: %s", e)  # they get a letter
        except FutureCancelledError:
            raise SystemExit(f"{bottler} was cancelled")
        else:
            signed.append(future)
    verdicts = client.map(
        judge, signed, key=[f"judge-{f.key.partition('-')[2]}" for f in signed]
    )
    return client.gather(verdicts)


def main(argv=None):
    parser = argparse.ArgumentParser()
    parser.add_argument(
        "--bottlers",
        nargs="*",
        default=["arden", "brook", "corrie", "dunn", "esk", "firth"],
    )
    parser.add_argument("--out", default="customs.json")
    args = parser.parse_args(argv)
    logging.basicConfig(level=logging.INFO, stream=sys.stderr)

    cluster = LocalCluster(
        n_workers=2, threads_per_worker=1, memory_limit="400MB", dashboard_address=None
    )
    client = Client(cluster)
    try:
        rows = {}
        for verdict in collect(client, args.bottlers):
            rows[verdict.bottler] = {k: len(v) for k, v in verdict.findings.items()}
            logger.info("%s: %s", verdict.bottler, rows[verdict.bottler])
        with open(args.out, "w") as f:
            json.dump(rows, f)
    finally:
        client.close()
        cluster.close(timeout=10)


if __name__ == "__main__":
    main()
