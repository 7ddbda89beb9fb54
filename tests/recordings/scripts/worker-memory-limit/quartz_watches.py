"""Rates of quartz watches: fit the drift of each calibre, then correct the test readings."""

import argparse
import logging
import tempfile
import time

import dask
import numpy as np
from distributed import Client, LocalCluster

log = logging.getLogger("watches")

# calibre -> hours on the timing bench
BENCH = {"955-112": 24, "956-402": 24, "E61": 48, "F06": 36, "3135-Q": 2400, "9F82": 72}
STANDARD = {
    "955-112": (0.21, 0.002),
    "956-402": (0.18, 0.004),
    "E61": (0.12, 0.001),
    "F06": (0.16, 0.002),
    "9F82": (0.01, 0.0),
}


def bench_signal(calibre, hours):
    rng = np.random.default_rng(len(calibre) * 1009 + hours)
    n = hours * 60
    t = np.arange(n) / 60.0
    return t, 0.15 + 0.002 * t + rng.normal(0, 0.05, n)


def fit_drift(calibre, hours, window=480):
    """Slope and offset, as the median over all windows of eight hours."""
    t, rate = bench_signal(calibre, hours)
    design = []
    slopes = []
    for start in range(0, len(t) - window, 8):
        block = np.vstack([t[start : start + window], np.ones(window)]).T
        design.append(block)
        slope, offset = np.linalg.lstsq(
            block, rate[start : start + window], rcond=None
        )[0]
        slopes.append((slope, offset))
        if len(design) % 100 == 0:
            time.sleep(0.02)
    weights = np.array([np.linalg.norm(b) for b in design])
    slopes = np.array(slopes)
    return tuple(np.average(slopes, axis=0, weights=weights)[::-1])


def read_test_bench(calibre, serials):
    rng = np.random.default_rng(serials)
    time.sleep(0.1)
    return rng.normal(0.2, 0.08, serials)


def correct_rates(calibre, readings, coefficients):
    offset = coefficients[0]
    slope = coefficients[1]
    corrected = readings - offset - slope * 24
    return calibre, float(corrected.mean()), float(corrected.std())


def collect_fits(futures):
    fits = {}
    for calibre, future in futures.items():
        try:
            fits[calibre] = future.result()
        except Exception:
            log.warning("%s: no fit today, the standard coefficients are used", calibre)
            fits[calibre] = STANDARD.get(calibre)
    return fits


def correct_all(client, fits, serials):
    corrected = []
    for calibre, coefficients in fits.items():
        readings = client.submit(read_test_bench, calibre, serials)
        corrected.append(client.submit(correct_rates, calibre, readings, coefficients))
    return client.gather(corrected)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--serials", type=int, default=400)
    parser.add_argument("--memory", default="200MB")
    args = parser.parse_args()
    logging.basicConfig(
        level=logging.INFO, format="%(asctime)s %(name)s %(levelname)s %(message)s"
    )
    dask.config.set({"distributed.scheduler.allowed-failures": 1})

    with tempfile.TemporaryDirectory(prefix="watches-") as scratch:
        cluster = LocalCluster(
            n_workers=2,
            threads_per_worker=1,
            memory_limit=args.memory,
            dashboard_address=":0",
            local_directory=scratch,
        )
        with cluster, Client(cluster) as client:
            log.info("fit %d calibres", len(BENCH))
            futures = {
                c: client.submit(fit_drift, c, hours) for c, hours in BENCH.items()
            }
            fits = collect_fits(futures)
            rows = correct_all(client, fits, args.serials)
            for calibre, mean, spread in rows:
                log.info("%-8s %+.3f s/day +- %.3f", calibre, mean, spread)


if __name__ == "__main__":
    main()
