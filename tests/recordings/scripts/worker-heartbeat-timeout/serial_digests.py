"""Nightly digest of the serial numbers that left the factory.

Every line's serials are folded into one number, whose decimal form the
auditors print; lines of the old plant have long serials.
"""

import argparse
import hashlib
import logging
import sys
import tempfile
import time

import dask
from dask.distributed import Client, LocalCluster

log = logging.getLogger("digests")

# serials per production line
LINES = {
    "press-1": 900,
    "press-2": 1100,
    "weld-1": 700,
    "weld-2": 800,
    "paint": 1500,
    "trim": 1300,
    "test": 400,
    "old-plant": 190_000,
    "pack": 600,
    "spares": 350,
}


def serials_of(line, count):
    time.sleep(0.5)
    seed = hashlib.sha256(line.encode()).digest()
    return seed * (count // 2 + 1)


def fold(block):
    """All serials of a line as one number."""
    return int.from_bytes(block, "big")


def decimal_digest(number):
    """Last and first digits as printed by the auditors."""
    if hasattr(sys, "set_int_max_str_digits"):
        sys.set_int_max_str_digits(0)
    digits = str(number)
    return digits[:12] + "…" + digits[-12:]


def cross_sum(digest):
    return sum(int(c) for c in digest if c.isdigit())


def submit_lines(client, lines):
    digests = {}
    for line, count in lines.items():
        block = client.submit(serials_of, line, count, key=f"serials_of-{line}")
        number = client.submit(fold, block, key=f"fold-{line}")
        digests[line] = client.submit(
            decimal_digest, number, key=f"decimal_digest-{line}"
        )
    return digests


def report(digests, client):
    for line, future in digests.items():
        digest = future.result()
        total = client.submit(cross_sum, digest, key=f"cross_sum-{line}")
        log.info("%-10s %s (%d)", line, digest, total.result())


def main(argv=None):
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--ttl", default="6s")
    args = parser.parse_args(argv)
    logging.basicConfig(
        level=logging.INFO, format="%(asctime)s %(name)s %(levelname)s %(message)s"
    )
    dask.config.set(
        {
            "distributed.scheduler.worker-ttl": args.ttl,
            "distributed.scheduler.allowed-failures": 1,
        }
    )
    with tempfile.TemporaryDirectory(prefix="digests-") as tmp:
        with (
            LocalCluster(
                n_workers=args.workers,
                threads_per_worker=1,
                memory_limit="400MiB",
                dashboard_address=":0",
                local_directory=tmp,
            ) as cluster,
            Client(cluster) as client,
        ):
            started = time.monotonic()
            short = {line: n for line, n in LINES.items() if n < 10_000}
            report(submit_lines(client, short), client)
            log.info("short lines done, now the long ones")
            report(
                submit_lines(
                    client, {line: n for line, n in LINES.items() if line not in short}
                ),
                client,
            )
            log.info("all lines in %.1f s", time.monotonic() - started)
    return 0


if __name__ == "__main__":
    sys.exit(main())
