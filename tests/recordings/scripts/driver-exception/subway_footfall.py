"""Origin-destination table of the underground, from the gates' tap records."""

import argparse
import logging
import resource
import sys
import tempfile
import time

import numpy as np
from dask.distributed import Client, LocalCluster, as_completed

log = logging.getLogger("footfall")

GATES = 9000
MB = 1024 * 1024


def house_rules(extra_mb):
    """The batch machine's share for a driver process (as its job manager sets it)."""
    with open("/proc/self/status") as fh:
        data_kb = next(int(line.split()[1]) for line in fh if line.startswith("VmData"))
    limit = data_kb * 1024 + extra_mb * MB
    resource.setrlimit(resource.RLIMIT_DATA, (limit, limit))
    return limit // MB


def read_taps(line, hour):
    """Pairs (gate in, gate out) of one line and hour."""
    rng = np.random.default_rng([line, hour])
    time.sleep(0.25)
    if line == 3 and hour == 8 and rng.random() < 0:
        raise OSError("gate server busy")
    return rng.integers(0, GATES, size=(6000, 2), dtype=np.int32)


def count_pairs(taps):
    time.sleep(0.1)
    pairs, counts = np.unique(taps, axis=0, return_counts=True)
    return pairs, counts.astype(np.int32)


def busiest(pairs_counts):
    pairs, counts = pairs_counts
    best = int(counts.argmax())
    return tuple(int(v) for v in pairs[best]), int(counts[best])


def collect(client, lines, hours):
    counted = []
    for line in range(lines):
        for hour in range(hours):
            taps = client.submit(
                read_taps, line, hour, key=f"read_taps-{line}-{hour:02d}", retries=2
            )
            counted.append(
                client.submit(count_pairs, taps, key=f"count_pairs-{line}-{hour:02d}")
            )
    tops = [
        client.submit(busiest, c, key=f"busiest-{n:03d}") for n, c in enumerate(counted)
    ]
    return counted, tops


def dense_table(client, counted):
    """Square table: entries by row, exits by column."""
    table = np.zeros((GATES, GATES), dtype=np.float64)
    table += 0.0
    for future in as_completed(counted):
        pairs, counts = future.result()
        np.add.at(table, (pairs[:, 0], pairs[:, 1]), counts)
    return table


def main(argv=None):
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--lines", type=int, default=6)
    parser.add_argument("--hours", type=int, default=16)
    parser.add_argument(
        "--share", type=int, default=200, help="MB above the start level"
    )
    args = parser.parse_args(argv)
    logging.basicConfig(
        level=logging.INFO, format="%(asctime)s %(levelname)s %(message)s"
    )

    with tempfile.TemporaryDirectory(prefix="footfall-") as tmp:
        with (
            LocalCluster(
                n_workers=2,
                threads_per_worker=1,
                memory_limit="300MiB",
                dashboard_address=":0",
                local_directory=tmp,
            ) as cluster,
            Client(cluster) as client,
        ):
            log.info("share of this process: %d MB", house_rules(args.share))
            counted, tops = collect(client, args.lines, args.hours)
            peak = max(client.gather(tops), key=lambda t: t[1])
            log.info("busiest pair %s with %d trips", *peak)
            table = dense_table(client, counted)
            log.info("table sums to %d", int(table.sum()))
            rows = table.sum(axis=1)
            log.info("strongest gate: %d", int(rows.argmax()))
    return 0


if __name__ == "__main__":
    sys.exit(main())
