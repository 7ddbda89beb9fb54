"""Digest of the firewall logs of the last day: hits per rule and source.

Reads the rotated log files, parses every line on the cluster and prints the
table that the security team gets at seven.
"""

import argparse
import collections
import logging
import random
import re
import sys
import tempfile
import time
from pathlib import Path

import dask
from dask.distributed import Client, LocalCluster

log = logging.getLogger("firewall_digest")

SETTINGS = {
    # a worker of the shared pool that is gone must not hold up the digest
    "distributed.scheduler.worker-ttl": "10s",
    "distributed.scheduler.allowed-failures": 0,
}

HEADER = re.compile(
    r"^(?P<host>(?:[\w-]+\.?)+): rule=(?P<rule>\w+) src=(?P<src>[\d.]+)"
)


def make_logs(folder, n_files, n_lines):
    """Stand-in for the log rotation of the gateways."""
    rng = random.Random(7)
    paths = []
    for k in range(n_files):
        path = folder / f"gw{k:02d}.log"
        with open(path, "w") as f:
            for i in range(n_lines):
                if k == 9 and i == 311:
                    f.write(
                        "gw09-edge-"
                        + "a" * 48
                        + "-fra-lon-ams!! kernel: ring buffer overrun\n"
                    )
                    continue
                rule = rng.choice(["allow", "drop", "reject", "log"])
                f.write(
                    f"gw{k:02d}.net: rule={rule} src=10.{rng.randrange(9)}.0.{rng.randrange(250)}\n"
                )
        paths.append(str(path))
    return paths


def parse_lines(lines):
    hits = collections.Counter()
    skipped = 0
    for line in lines:
        m = HEADER.match(line)
        if m is None:
            skipped += 1
            continue
        hits[m["rule"], m["src"]] += 1
    return hits, skipped


def digest_file(path):
    lines = Path(path).read_text().splitlines()
    hits, skipped = parse_lines(lines)
    time.sleep(0.3)  # object store latency budget
    return {"file": Path(path).name, "hits": dict(hits), "skipped": skipped}


def merge(parts):
    total = collections.Counter()
    for part in parts:
        total.update(part["hits"])
    return total


def table(total, n=8):
    for (rule, src), count in total.most_common(n):
        log.info("%-7s %-12s %6d", rule, src, count)


def main(argv=None):
    parser = argparse.ArgumentParser()
    parser.add_argument("--files", type=int, default=14)
    parser.add_argument("--lines", type=int, default=2500)
    parser.add_argument("--workers", type=int, default=2)
    args = parser.parse_args(argv)
    logging.basicConfig(
        level=logging.INFO, format="%(asctime)s %(name)s %(levelname)s %(message)s"
    )
    dask.config.set(SETTINGS)

    with tempfile.TemporaryDirectory(prefix="fw-") as tmp:
        paths = make_logs(Path(tmp), args.files, args.lines)
        log.info("%d log files of %d lines", len(paths), args.lines)
        with (
            LocalCluster(
                n_workers=args.workers,
                threads_per_worker=1,
                memory_limit="260MB",
                dashboard_address=":0",
            ) as cluster,
            Client(cluster) as client,
        ):
            futures = client.map(
                digest_file, paths, key=[f"digest-{Path(p).stem}" for p in paths]
            )
            parts = client.gather(futures)
    for part in parts:
        if part["skipped"]:
            log.warning("%s: %d lines skipped", part["file"], part["skipped"])
    table(merge(parts))
    return 0


if __name__ == "__main__":
    sys.exit(main())
