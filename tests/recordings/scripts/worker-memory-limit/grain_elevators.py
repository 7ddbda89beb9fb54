"""Moisture balance of the grain elevators, one task a silo, must be ready before the morning shift."""

import argparse
import logging
import sys
import tempfile
import time

import dask
import numpy as np
from dask.distributed import Client, LocalCluster, wait

log = logging.getLogger("elevators")

# silo -> number of probe strings installed
SILOS = {"A1": 6, "A2": 5, "A3": 8, "B1": 7, "B2": 6, "C1": 64, "C2": 4, "C3": 6}


def read_string(silo, number):
    """One probe string: 1 M samples of the last quarter."""
    rng = np.random.default_rng(number * 31 + len(silo))
    time.sleep(0.06)
    return rng.normal(14.0, 0.8, 500_000)


def smooth(samples, width=50):
    return samples[: len(samples) // width * width].reshape(-1, width).mean(axis=1)


def silo_balance(silo, strings):
    series = [read_string(silo, number) for number in range(strings)]
    stack = np.vstack([smooth(one) for one in series])
    drift = float(np.abs(stack - stack.mean(axis=0)).max())
    return {
        "silo": silo,
        "moisture": round(float(stack.mean()), 3),
        "drift": round(drift, 3),
    }


def alarm_level(balance):
    time.sleep(0.2)
    return balance["silo"], "high" if balance["moisture"] > 15 else "normal"


def submit_all(client):
    balances = {
        silo: client.submit(silo_balance, silo, strings, key=f"silo_balance-{silo}")
        for silo, strings in SILOS.items()
    }
    levels = [
        client.submit(alarm_level, one, key=f"alarm_level-{silo}")
        for silo, one in balances.items()
    ]
    return balances, levels


def report(levels):
    for silo, level in sorted(levels):
        log.info("silo %s: %s", silo, level)


def parse_args():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--memory", default="240MiB")
    parser.add_argument(
        "--window", type=float, default=16.0, help="seconds the batch may take"
    )
    return parser.parse_args()


def main():
    args = parse_args()
    logging.basicConfig(
        level=logging.INFO, format="%(asctime)s %(levelname)s %(name)s: %(message)s"
    )
    # nodes of the night pool come and go, so a task may be tried on many of them
    dask.config.set({"distributed.scheduler.allowed-failures": 12})
    with tempfile.TemporaryDirectory(prefix="elevators-") as scratch:
        cluster = LocalCluster(
            n_workers=args.workers,
            threads_per_worker=1,
            memory_limit=args.memory,
            dashboard_address=":0",
            local_directory=scratch,
        )
        client = Client(cluster)
        try:
            started = time.monotonic()
            balances, levels = submit_all(client)
            log.info("%d silos submitted, window is %.0f s", len(balances), args.window)
            wait(levels, timeout=args.window)
            report(client.gather(levels))
            log.info("ready after %.1f s", time.monotonic() - started)
        finally:
            client.close()
            cluster.close()
    return 0


if __name__ == "__main__":
    sys.exit(main())
