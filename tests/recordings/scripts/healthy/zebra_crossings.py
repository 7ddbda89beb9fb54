"""Waiting times at the zebra crossings, with a drill for lost workers.

The traffic office wants proof that the nightly figures survive the loss of a
machine, so the job takes away a worker half way through.
"""

import argparse
import logging
import os
import signal
import subprocess
import sys
import time

import numpy as np
from distributed import Client, LocalCluster, as_completed

log = logging.getLogger("zebra_crossings")


def simulate_crossing(crossing, hours):
    """Waiting seconds of the pedestrians of one crossing."""
    rng = np.random.default_rng(crossing)
    waits = []
    for _ in range(hours):
        waits.append(rng.exponential(4 + crossing % 6, size=500))
        time.sleep(0.03)
    return np.concatenate(waits)


def percentile(waits, crossing):
    return crossing, float(np.percentile(waits, 90))


def hold_matrix(megabytes):
    """Fill a good part of the memory for a moment."""
    block = np.ones(megabytes * 125_000)
    time.sleep(2)
    return float(block.mean())


def worker_pid():
    return os.getpid()


def optional_plot():
    """Ask for the plot tool of the office; most machines don't have it."""
    code = (
        "import sys; sys.stderr.write('plot tool is not licensed here\\n'); sys.exit(7)"
    )
    done = subprocess.run([sys.executable, "-c", code], check=False)
    if done.returncode:
        log.warning("plot tool ended with %d, figures go out as text", done.returncode)


def lose_a_worker(client):
    """Kill one worker process, as the drill demands; its nanny starts another."""
    pids = client.run(worker_pid)
    address, pid = sorted(pids.items())[0]
    log.warning("drill: killing worker %s (pid %d)", address, pid)
    os.kill(pid, signal.SIGKILL)


def run_drill(client, crossings, hours):
    waits = client.map(simulate_crossing, range(crossings), hours=hours)
    figures = client.map(percentile, waits, range(crossings))
    results = {}
    for future in as_completed(figures):
        crossing, value = future.result()
        results[crossing] = value
        if len(results) == crossings // 2:
            lose_a_worker(client)
    return results


def near_the_limit(client, megabytes):
    """Does the matrix of the whole city fit into one worker?"""
    mean = client.submit(hold_matrix, megabytes).result()
    log.info("matrix of %d MB fits (mean %.1f)", megabytes, mean)


def main(argv=None):
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--crossings", type=int, default=16)
    parser.add_argument("--hours", type=int, default=12)
    parser.add_argument("--matrix", type=int, default=170, help="megabytes")
    args = parser.parse_args(argv)
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(name)s %(message)s")

    with (
        LocalCluster(
            n_workers=2,
            threads_per_worker=1,
            memory_limit="400MB",
            dashboard_address=None,
        ) as cluster,
        Client(cluster) as client,
    ):
        client.wait_for_workers(2, timeout=40)
        near_the_limit(client, args.matrix)
        results = run_drill(client, args.crossings, args.hours)
    missing = sorted(set(range(args.crossings)) - set(results))
    if missing:
        log.error("crossings without a figure: %s", missing)
        return 1
    optional_plot()
    worst = max(results, key=results.get)
    log.info("worst crossing %d: %.1f s", worst, results[worst])
    return 0


if __name__ == "__main__":
    sys.exit(main())
