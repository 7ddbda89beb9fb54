"""Pooled glucose curves of an insulin trial.

Every centre's recordings are resampled on the cluster; the pooled table is made here and given to the
statisticians.  The batch queue gives the report process a fixed allowance of address space, that is taken over
from the queue's settings (``--allowance``, in MB above what the process starts with).
"""

import argparse
import logging
import resource
import sys
import time

import numpy as np
from distributed import Client, LocalCluster

log = logging.getLogger("insulin")
MINUTES = 7 * 24 * 60


class Centre:
    def __init__(self, name, patients):
        self.name = name
        self.patients = patients

    def __repr__(self):
        return f"Centre({self.name})"


CENTRES = [
    Centre(n, p)
    for n, p in [
        ("Bergen", 600),
        ("Turin", 720),
        ("Lyon", 540),
        ("Porto", 660),
        ("Graz", 600),
        ("Cork", 580),
    ]
]


def resample_centre(centre):
    rng = np.random.default_rng(len(centre.name) + centre.patients)
    curves = rng.normal(7.5, 2.0, size=(centre.patients, MINUTES)).astype("float32")
    return curves


def coverage(curves, limit):
    return float((curves > limit).mean())


def allowance(megabytes):
    with open("/proc/self/statm") as statm:
        used = int(statm.read().split()[0]) * resource.getpagesize()
    resource.setrlimit(
        resource.RLIMIT_AS, (used + megabytes * 2**20, resource.RLIM_INFINITY)
    )


def pool(curves):
    table = np.vstack(curves)
    table = table.astype("float64")
    table -= table.mean(axis=0)
    return table


def hand_over(table, path):
    np.savetxt(path, table[:, ::1440], fmt="%.2f", delimiter=";")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--allowance", type=int, default=450)
    parser.add_argument("--out", default="pooled.csv")
    args = parser.parse_args()
    logging.basicConfig(
        level=logging.INFO, format="%(asctime)s %(message)s", stream=sys.stdout
    )

    cluster = LocalCluster(
        n_workers=2, threads_per_worker=1, memory_limit="450MB", dashboard_address=None
    )
    client = Client(cluster)
    started = time.monotonic()
    try:
        client.wait_for_workers(2)
        allowance(args.allowance)
        resampled = [
            client.submit(resample_centre, c, key=f"resample_centre-{c.name}")
            for c in CENTRES
        ]
        high = client.map(coverage, resampled, limit=10.0)
        for centre, share in zip(CENTRES, client.gather(high)):
            log.info("%s: %.1f %% above 10 mmol/l", centre.name, 100 * share)
        del high
        curves = client.gather(resampled)
        log.info("%d curves of %d centres here", sum(map(len, curves)), len(curves))
        hand_over(pool(curves), args.out)
    finally:
        client.close()
        cluster.close()
        log.info("report process ran for %.0f s", time.monotonic() - started)


if __name__ == "__main__":
    main()
