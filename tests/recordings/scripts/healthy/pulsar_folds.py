"""Fold the time series of pulsars; the folded cubes stay on the cluster until the periods are compared."""

import argparse
import logging
import sys
import tempfile
import time

import dask
import numpy as np
from distributed import Client, LocalCluster, wait

log = logging.getLogger("pulsars")


def observe(pulsar, megabytes):
    rng = np.random.default_rng(pulsar)
    series = rng.standard_normal(megabytes * 250_000, dtype="f4")
    series[:: 400 + pulsar] += 6
    return series


def fold(series, period):
    """Profile of the pulse at a period; short series are an error of the caller."""
    if period > 408:
        raise ValueError(f"period {period} is outside the search window")
    turns = series.size // period
    return float(series[: turns * period].reshape(turns, period).mean(axis=0).max())


def wide_window(series, pulsar):
    """Works on a copy for a moment, as the de-dispersion does."""
    copy = series * 2
    time.sleep(0.2)
    return pulsar, float(copy.std())


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--pulsars", type=int, default=12)
    parser.add_argument("--megabytes", type=int, default=24)
    args = parser.parse_args()
    logging.basicConfig(
        level=logging.INFO, format="%(asctime)s %(levelname)s %(message)s"
    )

    dask.config.set(
        {
            "distributed.worker.memory.target": 0.45,
            "distributed.worker.memory.spill": 0.60,
            "distributed.worker.memory.pause": 0.72,
            "distributed.worker.memory.terminate": False,
        }
    )
    with (
        tempfile.TemporaryDirectory(prefix="pulsars-") as folder,
        LocalCluster(
            n_workers=2,
            threads_per_worker=1,
            memory_limit="280MiB",
            dashboard_address=None,
            local_directory=folder,
        ) as cluster,
        Client(cluster) as client,
    ):
        began = time.time()
        series = client.map(
            observe,
            range(args.pulsars),
            megabytes=args.megabytes,
            key=[f"observe-{n}" for n in range(args.pulsars)],
        )
        wait(series)
        log.info(
            "%d series of %d MB observed in %.1f s",
            len(series),
            args.megabytes,
            time.time() - began,
        )

        widths = dict(
            client.gather(client.map(wide_window, series, range(args.pulsars)))
        )
        log.info("widest %.3f", max(widths.values()))

        best = {}
        for pulsar, future in enumerate(series):
            periods = list(range(399 + pulsar - 1, 399 + pulsar + 3))
            folds = [
                client.submit(fold, future, p, key=f"fold-{pulsar}-{p}")
                for p in periods
            ]
            wait(folds)
            for period, result in zip(periods, folds):
                if result.status == "error":
                    log.warning("pulsar %d: %s", pulsar, result.exception())
                else:
                    best[pulsar] = max(
                        best.get(pulsar, (0, 0)), (result.result(), period)
                    )
        found = sum(period == 400 + pulsar for pulsar, (_, period) in best.items())
        log.info("%d of %d periods confirmed", found, len(best))
    return 0 if found >= 8 else 1


if __name__ == "__main__":
    sys.exit(main())
