"""Nightly nest counts from cliff photographs: a fast native detector where it works, the slow one where it does not."""

import argparse
import logging
import os
import sys
import tempfile
import time
import warnings

import dask
import numpy as np
from distributed import Client, LocalCluster, wait
from distributed.scheduler import KilledWorker

log = logging.getLogger("cliff_nests")

SITES = ["crow-head", "gannet-rock", "mew-stack", "skua-point"]
HALF = 24 * 2**20  # bytes of one half of a panorama


def panorama(site, night):
    """Both halves of the photograph, as one array."""
    rng = np.random.default_rng(SITES.index(site) * 100 + night)
    picture = rng.integers(0, 255, 2 * HALF, dtype="uint8")
    time.sleep(0.4)
    return picture


def fast_detector(picture, site):
    """The native detector ends the process when its licence does not cover a site; nothing to be done about that."""
    time.sleep(0.3)
    if site == "skua-point":
        print(f"detector: no licence for {site}", file=sys.stderr, flush=True)
        os._exit(9)
    return {"site": site, "nests": int((picture[:100_000] > 250).sum()), "by": "fast"}


def slow_detector(picture, site):
    warnings.warn(f"{site}: slow detector, counts are within 5 %", UserWarning)
    time.sleep(1.0)
    return {"site": site, "nests": int((picture[:100_000] > 250).sum()), "by": "slow"}


def count_site(client, site, nights):
    pictures = [
        client.submit(panorama, site, night, key=f"panorama-{site}-{night}")
        for night in range(nights)
    ]
    wait(pictures, timeout=120)
    try:
        rows = []
        for night, picture in enumerate(pictures):
            future = client.submit(
                fast_detector, picture, site, key=f"fast_detector-{site}-{night}"
            )
            rows.append(future.result(timeout=120))
        return rows
    except KilledWorker as error:
        log.error(
            "fast detector is lost for %s (%s), falling back",
            site,
            type(error).__name__,
        )
        client.wait_for_workers(1, timeout=120)
        futures = [
            client.submit(
                slow_detector, picture, site, key=f"slow_detector-{site}-{night}"
            )
            for night, picture in enumerate(pictures)
        ]
        return client.gather(futures)


def self_test(client):
    """A broken photograph has to be refused, otherwise tonight's counts mean nothing."""
    future = client.submit(
        np.frombuffer, b"abc", dtype="float64", pure=False, key="self_test-broken"
    )
    error = future.exception(timeout=120)
    if not isinstance(error, ValueError):
        raise RuntimeError("self test: a broken photograph was accepted")
    log.warning("self test: %s", error)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--nights", type=int, default=4)
    args = parser.parse_args()
    logging.basicConfig(
        level=logging.INFO, format="%(asctime)s %(levelname)s %(name)s: %(message)s"
    )

    dask.config.set(
        {
            "distributed.scheduler.allowed-failures": 0,
            "distributed.worker.memory.target": 0.55,
            "distributed.worker.memory.spill": 0.65,
            "distributed.worker.memory.terminate": 0.98,
        }
    )
    with (
        tempfile.TemporaryDirectory(prefix="cliffs-") as folder,
        LocalCluster(
            n_workers=1,
            threads_per_worker=1,
            memory_limit="400MiB",
            dashboard_address=":0",
            local_directory=folder,
        ) as cluster,
        Client(cluster) as client,
    ):
        self_test(client)
        counts = []
        for site in SITES:
            rows = count_site(client, site, args.nights)
            log.info(
                "%-12s %s nests (%s)",
                site,
                sum(row["nests"] for row in rows),
                rows[0]["by"],
            )
            counts += rows
        assert len(counts) == len(SITES) * args.nights
        assert {row["by"] for row in counts if row["site"] == "skua-point"} == {"slow"}
        log.info("%d photographs counted", len(counts))
    return 0


if __name__ == "__main__":
    sys.exit(main())
