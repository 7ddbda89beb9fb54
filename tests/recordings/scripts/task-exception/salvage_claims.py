"""Settle salvage claims: every claim is a JSON file, and is leased with a folder while it is worked on."""

import argparse
import json
import logging
import os
import random
import sys
import tempfile
import time
from pathlib import Path

from distributed import Client, LocalCluster, as_completed

log = logging.getLogger("salvage")

RATES = {"GBP": 1.0, "EUR": 0.86, "USD": 0.79, "NOK": 0.075}
AWARD = {"low": 0.1, "medium": 0.25, "high": 0.4}


def write_claims(folder, count):
    rng = random.Random(1)
    for n in range(count):
        claim = {
            "number": f"SC-{n:04d}",
            "vessel": f"hull {rng.randrange(900)}",
            "danger": rng.choice(list(AWARD)),
            "values": [
                {
                    "item": item,
                    "amount": rng.randrange(5_000, 90_000),
                    "currency": rng.choice(list(RATES)),
                }
                for item in ("hull", "cargo", "bunkers")
            ],
        }
        if n in (11, 17):
            # claims of the Baltic office come with the amount as text
            for value in claim["values"]:
                value["amount"] = f"{value['amount']},00"
        (folder / f"{claim['number']}.json").write_text(json.dumps(claim))


class Lease:
    """One claim, one clerk: the folder exists as long as somebody works on it."""

    def __init__(self, path):
        self.folder = Path(str(path) + ".lease")

    def take(self):
        os.mkdir(self.folder)
        (self.folder / "clerk").write_text(str(os.getpid()))

    def give_back(self):
        (self.folder / "clerk").unlink()
        os.rmdir(self.folder)


def salved_fund(claim):
    fund = 0.0
    for value in claim["values"]:
        fund += float(value["amount"]) * RATES[value["currency"]]
    return fund


def settle_claim(path):
    lease = Lease(path)
    lease.take()
    claim = json.loads(Path(path).read_text())
    time.sleep(0.3)
    fund = salved_fund(claim)
    award = round(fund * AWARD[claim["danger"]], 2)
    lease.give_back()
    return claim["number"], award


def settle_all(client, folder):
    paths = sorted(str(p) for p in folder.glob("SC-*.json"))
    # the share of the archive hiccups now and then
    futures = client.map(settle_claim, paths, retries=2, pure=False)
    names = dict(zip((f.key for f in futures), paths))
    settled, leased = {}, []
    for future in as_completed(futures):
        try:
            number, award = future.result()
            settled[number] = award
        except FileExistsError:
            leased.append(Path(names[future.key]).stem)
    return settled, leased


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--claims", type=int, default=24)
    args = parser.parse_args()
    logging.basicConfig(
        level=logging.INFO, format="%(asctime)s %(name)s %(levelname)s %(message)s"
    )

    with tempfile.TemporaryDirectory(prefix="salvage-") as scratch:
        folder = Path(scratch, "claims")
        folder.mkdir()
        write_claims(folder, args.claims)
        with (
            LocalCluster(
                n_workers=2,
                threads_per_worker=1,
                dashboard_address=":0",
                local_directory=scratch,
            ) as cluster,
            Client(cluster) as client,
        ):
            deadline = time.monotonic() + 40
            settled, leased = settle_all(client, folder)
            while leased and time.monotonic() < deadline - 30:
                log.info("%s still leased, look again", ", ".join(sorted(leased)))
                time.sleep(4)
                leased = [n for n in leased if (folder / f"{n}.json.lease").exists()]
            log.info(
                "settled %d claims for %.2f GBP", len(settled), sum(settled.values())
            )
        if leased:
            log.error(
                "claims %s are leased by another clerk; run again when that run is over",
                ", ".join(sorted(leased)),
            )
            sys.exit(4)


if __name__ == "__main__":
    main()
