"""Nightly release of seed lots: the exact chance that a lot of this size hides too many dead seeds."""

import argparse
import logging
import math
import sys
import time
from fractions import Fraction

import dask
from distributed import Client, LocalCluster, as_completed

log = logging.getLogger("seed_lots")

# lot, bags in the lot, bags sampled, bags with dead seeds in the sample
LOTS = [
    ("barley-031", 2_400, 60, 1),
    ("clover-007", 1_150, 45, 0),
    ("fescue-112", 3_900, 80, 2),
    ("lucerne-055", 2_050, 50, 1),
    ("radish-018", 900, 40, 0),
    (
        "rye-076",
        7_600_000,
        3_800_000,
        3,
    ),  # weighed at the new silo: grams, all the others are bags
    ("vetch-023", 1_700, 45, 1),
    ("wheat-201", 4_200, 80, 1),
]


def load_history(lot):
    """Germination of the last seasons of this lot's grower."""
    time.sleep(0.5)
    return {"lot": lot, "dead_share": 0.01 + (len(lot) % 4) / 400}


def exact_tail(history, bags, sampled, found):
    """Exact hypergeometric tail, in integers, as the inspectorate asks for it."""
    dead = max(found, round(bags * history["dead_share"]))
    ways = math.comb(bags, sampled)
    tail = Fraction(0)
    for k in range(found + 1):
        tail += Fraction(math.comb(dead, k) * math.comb(bags - dead, sampled - k), ways)
    return {"lot": history["lot"], "dead": dead, "tail": float(tail)}


def decide(result, alpha):
    result["released"] = result["tail"] >= alpha
    return result


def submit(client, alpha):
    futures = []
    for lot, bags, sampled, found in LOTS:
        history = client.submit(load_history, lot, key=f"load_history-{lot}")
        tail = client.submit(
            exact_tail, history, bags, sampled, found, key=f"exact_tail-{lot}"
        )
        futures.append(client.submit(decide, tail, alpha, key=f"decide-{lot}"))
    return futures


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--alpha", type=float, default=0.05)
    parser.add_argument("--workers", type=int, default=2)
    args = parser.parse_args()
    logging.basicConfig(
        level=logging.INFO, format="%(asctime)s %(levelname)s %(name)s: %(message)s"
    )

    # a silent worker shall not hold up the release for the usual five minutes
    dask.config.set(
        {
            "distributed.scheduler.worker-ttl": "12s",
            "distributed.scheduler.allowed-failures": 0,
        }
    )

    with (
        LocalCluster(
            n_workers=args.workers,
            threads_per_worker=1,
            memory_limit="300MiB",
            dashboard_address=":0",
        ) as cluster,
        Client(cluster) as client,
    ):
        log.info("%d lots on %d workers", len(LOTS), args.workers)
        released = 0
        for future in as_completed(submit(client, args.alpha)):
            result = future.result()
            released += result["released"]
            log.info(
                "%-12s %4d expected dead, tail %.4f, %s",
                result["lot"],
                result["dead"],
                result["tail"],
                "released" if result["released"] else "held back",
            )
        log.info("%d of %d lots released", released, len(LOTS))
    return 0


if __name__ == "__main__":
    sys.exit(main())
