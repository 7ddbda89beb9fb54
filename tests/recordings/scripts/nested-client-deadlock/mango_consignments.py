"""Nightly grading of mango consignments.

Reads the arrivals of the day (simulated here), grades every pallet and writes one
quality certificate per consignment. Small consignments are graded in one go, the big
ones (sea freight) pallet by pallet on the cluster.
"""

import argparse
import hashlib
import logging
import random
import sys
import time
from dataclasses import dataclass

from dask.distributed import Client, LocalCluster, get_client, wait

log = logging.getLogger("mango")

SEA_FREIGHT_PALLETS = 12


@dataclass(frozen=True)
class Consignment:
    number: str
    origin: str
    pallets: int

    @property
    def by_sea(self):
        return self.pallets >= SEA_FREIGHT_PALLETS


def arrivals(day, count):
    rng = random.Random(day)
    out = []
    for i in range(count):
        sea = i % 3 != 0
        pallets = rng.randint(14, 20) if sea else rng.randint(2, 6)
        origin = rng.choice(["Peru", "Ivory Coast", "Brazil", "Pakistan"])
        out.append(Consignment(f"MC-{day[-4:]}-{i:03d}", origin, pallets))
    return out


def sample_brix(number, pallet):
    """Sugar content of the samples of one pallet."""
    digest = hashlib.sha256(f"{number}/{pallet}".encode()).digest()
    return [9 + b / 40 for b in digest[:12]]


def grade_pallet(number, pallet):
    time.sleep(0.15)
    brix = sample_brix(number, pallet)
    mean = sum(brix) / len(brix)
    return {"pallet": pallet, "brix": mean, "grade": "A" if mean > 12 else "B"}


def check_papers(consignment):
    time.sleep(0.1)
    return consignment.number, len(consignment.origin) > 3


def grade_consignment(consignment):
    """Certificate of one consignment."""
    pallets = range(consignment.pallets)
    if not consignment.by_sea:
        grades = [grade_pallet(consignment.number, p) for p in pallets]
    else:
        client = get_client()
        parts = [
            client.submit(grade_pallet, consignment.number, p, pure=False)
            for p in pallets
        ]
        grades = client.gather(parts)
    share_a = sum(g["grade"] == "A" for g in grades) / len(grades)
    return {
        "number": consignment.number,
        "origin": consignment.origin,
        "share_a": round(share_a, 3),
        "brix": round(sum(g["brix"] for g in grades) / len(grades), 2),
    }


def papers(client, consignments):
    futures = client.map(check_papers, consignments)
    ok = dict(client.gather(futures))
    log.info("papers: %d of %d complete", sum(ok.values()), len(ok))
    return [c for c in consignments if ok[c.number]]


def certificates(client, consignments, limit):
    by_size = sorted(consignments, key=lambda c: c.pallets)
    futures = client.map(grade_consignment, by_size, key="certificate")
    log.info("grading %d consignments, time limit %d s", len(futures), limit)
    wait(futures, timeout=limit)
    return client.gather(futures)


def main(argv=None):
    ap = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    ap.add_argument("--day", default="2026-11-26")
    ap.add_argument("--consignments", type=int, default=15)
    ap.add_argument("--limit", type=int, default=28, help="seconds for the grading")
    args = ap.parse_args(argv)
    logging.basicConfig(
        level=logging.INFO, format="%(asctime)s %(name)s %(levelname)s %(message)s"
    )
    found = arrivals(args.day, args.consignments)
    log.info("%d consignments, %d by sea", len(found), sum(c.by_sea for c in found))
    with (
        LocalCluster(
            n_workers=2,
            threads_per_worker=1,
            memory_limit="400MB",
            dashboard_address=":0",
        ) as cluster,
        Client(cluster) as client,
    ):
        cleared = papers(client, found)
        rows = certificates(client, cleared, args.limit)
        best = max(rows, key=lambda r: r["share_a"])
        log.info("%d certificates, best is %s", len(rows), best)
    return 0


if __name__ == "__main__":
    sys.exit(main())
