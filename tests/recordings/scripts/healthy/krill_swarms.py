"""Echo integrals of krill surveys; keeps the pings in memory between two sweeps."""

import argparse
import logging
import sys
import tempfile
import time
import warnings

import dask
import numpy as np
from dask.distributed import Client, LocalCluster, TimeoutError, wait

log = logging.getLogger("krill_swarms")


def ping_block(n):
    rng = np.random.default_rng(n)
    time.sleep(0.15)
    return rng.normal(-70, 6, 500_000)


def whole_survey():
    """All pings at once, if the machine is big enough."""
    return np.ones((1 << 22, 1 << 24)).sum()


def integrate(block, threshold):
    with warnings.catch_warnings(record=False):
        warnings.simplefilter("default")
        if threshold < -75:
            warnings.warn(
                f"threshold {threshold} dB is below the noise", RuntimeWarning
            )
        strong = block[block > threshold]
    return float(np.sum(10 ** (strong / 10)))


def try_whole(client):
    try:
        return client.submit(whole_survey).result()
    except MemoryError as exc:
        log.error("whole survey does not fit (%s), going on by blocks", exc)
        return None


def sweep(client, blocks, thresholds):
    out = {}
    for t in thresholds:
        out[t] = sum(client.gather(client.map(integrate, blocks, threshold=t)))
        log.info("threshold %d dB: %.3g", t, out[t])
    return out


def slow_probe(seconds):
    time.sleep(seconds)
    return seconds


def impatient(client):
    """The calibration may take a while; look for it, but do not wait for it."""
    probe = client.submit(slow_probe, 4, pure=False)
    try:
        wait(probe, timeout=1)
    except TimeoutError:
        log.warning("calibration not there after 1 s, doing the sweep first")
    return probe


def main():
    ap = argparse.ArgumentParser(description=__doc__)
    ap.add_argument("--blocks", type=int, default=60)
    args = ap.parse_args()
    logging.basicConfig(
        level=logging.INFO, format="%(asctime)s %(levelname)s %(message)s"
    )
    # everything above half of the limit goes to disk
    dask.config.set(
        {
            "distributed.worker.memory.target": 0.5,
            "distributed.worker.memory.spill": 0.6,
        }
    )

    with tempfile.TemporaryDirectory(prefix="krill-") as tmp:
        with (
            LocalCluster(
                n_workers=2,
                threads_per_worker=1,
                memory_limit="270MiB",
                dashboard_address=":0",
                local_directory=tmp,
            ) as cluster,
            Client(cluster) as client,
        ):
            try_whole(client)
            blocks = client.map(ping_block, range(args.blocks))
            wait(blocks, timeout=60)
            probe = impatient(client)
            sums = sweep(client, blocks, [-80, -70, -60])
            assert sums[-80] > sums[-70] > sums[-60] > 0
            log.info("calibration %s s", probe.result(timeout=30))
            # unfinished on purpose: the next survey asks for it again
            leftovers = client.map(slow_probe, [0.5 + n / 10 for n in range(6)])
            time.sleep(0.5)
            log.warning(
                "leaving with %d open probes",
                sum(f.status == "pending" for f in leftovers),
            )
    return 0


if __name__ == "__main__":
    sys.exit(main())
