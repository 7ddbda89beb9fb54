"""Evaluate the kiln logs of glaze firings; bad loggers and dying workers are part of it."""

import argparse
import logging
import os
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
from distributed import Client, LocalCluster, as_completed, wait
from distributed.client import FutureCancelledError

log = logging.getLogger("glaze")


class LoggerOffline(ConnectionError):
    """The kiln's logger did not answer."""


class BadCurve(ValueError):
    """A firing whose thermocouple failed: it is put on the reject list."""


def first_time(folder, name):
    try:
        (Path(folder) / name).touch(exist_ok=False)
    except FileExistsError:
        return False
    return True


def fetch_curve(firing, folder):
    """The loggers sleep: their first answer is often missing, hence retries."""
    if firing % 4 == 0 and first_time(folder, f"fetch-{firing}"):
        raise LoggerOffline(f"logger of firing {firing} is offline")
    rng = np.random.default_rng(firing)
    curve = 20 + 1220 * np.sin(np.linspace(0, np.pi, 500)) + rng.normal(0, 4, 500)
    if firing % 7 == 3:
        curve[200:260] = np.nan
    return curve


def peak_temperature(curve, firing):
    if np.isnan(curve).any():
        raise BadCurve(f"firing {firing}: thermocouple lost")
    return firing, float(curve.max())


def vendor_decoder(firing, folder):
    """The vendor's decoder ends the process on its first use after an update."""
    if first_time(folder, f"decoder-{firing}"):
        os._exit(9)
    return firing * 2


def slow_simulation(firing):
    for _ in range(50):
        time.sleep(0.1)
    return firing


def peaks(client, firings, folder):
    curves = client.map(fetch_curve, firings, folder=folder, retries=3, pure=False)
    futures = client.map(peak_temperature, curves, firings)
    good, rejected = {}, []
    for future in as_completed(futures):
        try:
            firing, peak = future.result()
            good[firing] = peak
        except BadCurve as e:
            log.error("rejected: %s", e)
            rejected.append(str(e))
    log.info("%d firings evaluated, %d rejected", len(good), len(rejected))
    return good, rejected


def decode(client, folder):
    """Dies once, the nanny brings the worker back and the task runs again."""
    future = client.submit(vendor_decoder, 77, folder, pure=False)
    code = future.result(timeout=120)
    client.wait_for_workers(2, timeout=120)
    log.info("decoder answers %d after all", code)
    return code


def simulate_a_little(client):
    futures = client.map(slow_simulation, range(2), pure=False)
    try:
        wait(futures, timeout=3)
    except TimeoutError:
        log.warning("simulations take too long, going without them")
    client.cancel(futures, force=True)
    try:
        client.gather(futures)
    except FutureCancelledError as e:
        log.warning("as expected: %s", type(e).__name__)


def main(argv=None):
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--firings", type=int, default=21)
    args = parser.parse_args(argv)
    logging.basicConfig(
        level=logging.INFO, format="%(levelname)s %(name)s: %(message)s"
    )

    with tempfile.TemporaryDirectory(prefix="glaze-") as folder:
        with (
            LocalCluster(
                n_workers=2, threads_per_worker=1, dashboard_address=":0"
            ) as cluster,
            Client(cluster) as client,
        ):
            good, rejected = peaks(client, range(args.firings), folder)
            decode(client, folder)
            simulate_a_little(client)
            again, _ = peaks(client, range(args.firings), folder)
            if again != good or len(rejected) != len(range(3, args.firings, 7)):
                log.error("second evaluation differs")
                return 1
            log.info("hottest firing: %d", max(good, key=good.get))
    return 0


if __name__ == "__main__":
    sys.exit(main())
