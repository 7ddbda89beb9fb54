"""Decimal digits of Mersenne primes for the almanac's download page.

For each exponent p the number 2**p - 1 is written out, its digits are counted
and summed, and head and tail are compared with what was published last year.
"""

import argparse
import hashlib
import logging
import sys
import tempfile
import time

import dask
from distributed import Client, LocalCluster

log = logging.getLogger("mersenne")

EXPONENTS = [
    521,
    607,
    1279,
    2203,
    2281,
    3217,
    4253,
    4423,
    9689,
    9941,
    11213,
    19937,
    21701,
    23209,
    44497,
    86243,
    110503,
    132049,
    216091,
]
ADDITIONS = [13466917]  # asked for by readers

PUBLISHED = {521: "6864797660", 2203: "1475979915", 9689: "4782202788"}


def decimal_digits(p):
    """All digits of 2**p - 1, summed up for the almanac."""
    if hasattr(sys, "set_int_max_str_digits"):
        sys.set_int_max_str_digits(0)
    time.sleep(0.3)  # fairness to the other readers of the number server
    text = str(2**p - 1)
    return {
        "p": p,
        "length": len(text),
        "sum": sum(map(int, text)),
        "head": text[:10],
        "tail": text[-10:],
        "sha": hashlib.sha256(text.encode()).hexdigest()[:16],
    }


def check_published(row):
    expected = PUBLISHED.get(row["p"])
    if expected and row["head"] != expected:
        raise ValueError(
            f"2^{row['p']}-1 starts with {row['head']}, published was {expected}"
        )
    return row


def table(rows):
    for row in sorted(rows, key=lambda r: r["p"]):
        log.info(
            "2^%-9d %8d digits, sum %8d, %s…%s",
            row["p"],
            row["length"],
            row["sum"],
            row["head"],
            row["tail"],
        )


def settings():
    return {
        # two strikes: the number server's night is short
        "distributed.scheduler.allowed-failures": 1,
        "distributed.scheduler.worker-ttl": "6s",
        "distributed.comm.timeouts.connect": "60s",
    }


def parse_args():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--exponent", type=int, action="append", help="only these")
    parser.add_argument("--without-additions", action="store_true")
    return parser.parse_args()


def main():
    args = parse_args()
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(name)s %(message)s")
    exponents = args.exponent or list(EXPONENTS)
    if not args.without_additions and not args.exponent:
        exponents += ADDITIONS

    with (
        tempfile.TemporaryDirectory(prefix="mersenne-") as scratch,
        dask.config.set(settings()),
    ):
        with (
            LocalCluster(
                n_workers=2,
                threads_per_worker=1,
                memory_limit="280MiB",
                dashboard_address="127.0.0.1:0",
                local_directory=scratch,
            ) as cluster,
            Client(cluster) as client,
        ):
            client.wait_for_workers(2, timeout=60)
            log.info("%d exponents, largest %d", len(exponents), max(exponents))
            digits = [
                client.submit(decimal_digits, p, key=f"decimal_digits-{p}")
                for p in exponents
            ]
            checked = client.map(check_published, digits)
            rows = client.gather(checked)
            table(rows)
    log.info("page is ready, %d numbers", len(rows))
    return 0


if __name__ == "__main__":
    sys.exit(main())
