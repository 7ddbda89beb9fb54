"""Roosts of ravens: which recording boxes heard which flock.

All calls are compared with a library of reference calls.  The library is large, so it is sent to the
workers once and used in both stages.  The decoder of the boxes leaks file handles; that is why the workers
that did the decoding are exchanged before the comparison.
"""

import argparse
import logging
import sys
import tempfile
import time

import numpy as np
from dask.distributed import Client, LocalCluster, as_completed

log = logging.getLogger("roosts")
BOXES = [f"box-{n:02d}" for n in range(1, 13)]


def reference_calls(species=40, length=2000):
    rng = np.random.default_rng(7)
    return rng.normal(size=(species, length)).astype("float32")


def decode(box, calls, library):
    """Rough decoding; boxes without battery fail, and are left out."""
    if box == "box-05":
        raise OSError(f"{box}: recording is truncated")
    time.sleep(0.2)
    rng = np.random.default_rng(sum(map(ord, box)))
    return rng.normal(size=(calls, library.shape[1])).astype("float32")


def compare(box, calls, library):
    scores = calls @ library.T
    best = scores.argmax(axis=1)
    return box, int(np.bincount(best).argmax()), float(scores.max())


def decoding(client, library, calls):
    futures = {
        client.submit(decode, box, calls, library, key=f"decode-{box}", retries=1): box
        for box in BOXES
    }
    decoded = {}
    for future in as_completed(list(futures), raise_errors=False):
        box = futures[future]
        if future.status == "error":
            log.warning("%s left out: %s", box, future.exception())
        else:
            decoded[box] = future.result()
    log.info("%d of %d boxes decoded", len(decoded), len(BOXES))
    return decoded


def exchange_workers(client):
    addresses = sorted(client.nthreads())
    outcome = client.restart_workers(addresses)
    client.wait_for_workers(len(addresses), timeout=30)
    log.info("workers exchanged: %s", ", ".join(f"{k} {v}" for k, v in outcome.items()))


def comparing(client, library, decoded):
    futures = [
        client.submit(compare, box, calls, library, key=f"compare-{box}")
        for box, calls in decoded.items()
    ]
    for box, species, score in client.gather(futures):
        print(f"{box}: flock {species} ({score:.1f})")


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--calls", type=int, default=300)
    parser.add_argument("--workers", type=int, default=2)
    args = parser.parse_args()
    logging.basicConfig(
        stream=sys.stderr,
        level=logging.INFO,
        format="%(asctime)s %(levelname)s %(message)s",
    )
    with tempfile.TemporaryDirectory() as folder:
        with (
            LocalCluster(
                n_workers=args.workers,
                threads_per_worker=1,
                memory_limit="400MB",
                dashboard_address=None,
                local_directory=folder,
            ) as cluster,
            Client(cluster) as client,
        ):
            library = client.scatter(reference_calls(), broadcast=True)
            decoded = decoding(client, library, args.calls)
            exchange_workers(client)
            comparing(client, library, decoded)


if __name__ == "__main__":
    main()
