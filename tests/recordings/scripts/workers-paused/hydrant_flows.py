"""Fire-flow study: pressure traces of all hydrant zones, every night.

1. read the zone table        (here: generated)
2. simulate each zone          -> a trace of head over time and node
3. compare all zones pairwise  -> which neighbours can support each other
"""

import argparse
import logging
import sys
import tempfile
import time

import dask
import numpy as np
from distributed import Client, LocalCluster, wait

log = logging.getLogger("hydrants")

STEPS = 2000
NODES = 1000


def zone_table(count):
    return [
        {"zone": f"z{n:02d}", "demand": 40 + 7 * (n % 5), "head": 55.0 + (n % 3)}
        for n in range(count)
    ]


def simulate_zone(row):
    """Head in metres for every step and node of one zone."""
    rng = np.random.default_rng(int(row["demand"]) * 31)
    trace = np.empty((STEPS, NODES))
    level = row["head"]
    for first in range(0, STEPS, 100):
        noise = rng.standard_normal((100, NODES))
        noise *= 0.2
        trace[first : first + 100] = noise
        trace[first : first + 100] += level
        level -= row["demand"] / 4000
        time.sleep(0.03)  # the solver is an external program in production
    return trace


def lowest_head(trace):
    return float(trace.min())


def support_matrix(*traces):
    """Share of the time in which a zone could feed its neighbour."""
    means = [t.mean(axis=1) for t in traces]
    out = np.zeros((len(means), len(means)))
    for i, a in enumerate(means):
        for j, b in enumerate(means):
            out[i, j] = float((a > b + 0.1).mean())
    return out


def cluster_config():
    # The scratch disk of the batch host is 2 GB and shared, so nothing spills.
    return {
        "distributed.worker.memory.target": False,
        "distributed.worker.memory.spill": False,
    }


def parse_args():
    parser = argparse.ArgumentParser()
    parser.add_argument("--zones", type=int, default=26)
    parser.add_argument(
        "--patience", type=float, default=35.0, help="seconds for the simulation"
    )
    return parser.parse_args()


def study(client, args):
    zones = zone_table(args.zones)
    log.info("simulating %d zones", len(zones))
    traces = [
        client.submit(simulate_zone, row, key=f"simulate_zone-{row['zone']}")
        for row in zones
    ]
    try:
        wait(traces, timeout=args.patience)
    except TimeoutError:
        done = sum(f.done() for f in traces)
        log.error("only %d of %d zones after %.0f s", done, len(traces), args.patience)
        raise
    heads = client.gather(client.map(lowest_head, traces))
    for row, head in zip(zones, heads):
        log.info("zone %s: lowest head %.1f m", row["zone"], head)
    matrix = client.submit(support_matrix, *traces).result()
    log.info("pairs that can support each other: %d", int((matrix > 0.9).sum()))


def main():
    args = parse_args()
    logging.basicConfig(
        level=logging.INFO, format="%(asctime)s %(levelname)s %(message)s"
    )
    with (
        tempfile.TemporaryDirectory(prefix="hydrants-") as scratch,
        dask.config.set(cluster_config()),
    ):
        with (
            LocalCluster(
                n_workers=2,
                threads_per_worker=1,
                memory_limit="240MiB",
                dashboard_address="127.0.0.1:0",
                local_directory=scratch,
            ) as cluster,
            Client(cluster) as client,
        ):
            client.wait_for_workers(2, timeout=60)
            study(client, args)
    log.info("study written")
    return 0


if __name__ == "__main__":
    sys.exit(main())
