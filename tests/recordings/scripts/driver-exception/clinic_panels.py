"""Nightly laboratory panels: clean the results of every clinic on the cluster, then one wide table for the doctors."""

import argparse
import logging
import resource
import sys
import time

import numpy as np
import pandas as pd
from distributed import Client, LocalCluster, wait

log = logging.getLogger("clinic_panels")

CLINICS = ["ashby", "brook", "calder", "dene", "elm", "firth"]
ANALYTES = [f"AN{n:03d}" for n in range(120)]


def cap_address_space(extra_mib):
    """House rule of the batch host: a driver may not grow by more than this once its cluster is up."""
    with open("/proc/self/statm") as statm:
        now = int(statm.read().split()[0]) * resource.getpagesize()
    limit = now + extra_mib * 2**20
    resource.setrlimit(
        resource.RLIMIT_AS, (limit, resource.getrlimit(resource.RLIMIT_AS)[1])
    )
    log.info("address space capped at %d MiB (now %d MiB)", limit >> 20, now >> 20)


def read_results(clinic, rows):
    time.sleep(1.5)  # the clinics' exports come over a slow line
    rng = np.random.default_rng(CLINICS.index(clinic))
    analytes = np.array(ANALYTES, dtype=object)[rng.integers(0, len(ANALYTES), rows)]
    if (
        clinic == "calder"
    ):  # new lab system since Monday: the device serial is part of the code
        serials = rng.permutation(rows)
        analytes = np.array(
            [f"{a}/{s:05d}" for a, s in zip(analytes, serials)], dtype=object
        )
    return pd.DataFrame(
        {
            "patient": rng.integers(0, 9_000, rows) + 10_000 * CLINICS.index(clinic),
            "analyte": analytes,
            "value": rng.lognormal(1.0, 0.4, rows),
        }
    )


def clean(frame):
    frame = frame[frame["value"].between(0.01, 100.0)]
    return frame.groupby(["patient", "analyte"], as_index=False)["value"].mean()


def describe(frame):
    return {
        "rows": len(frame),
        "patients": frame["patient"].nunique(),
        "analytes": frame["analyte"].nunique(),
    }


def widen(frames):
    """One row per patient and one column per analyte."""
    long = pd.concat(frames, ignore_index=True)
    log.info(
        "long table: %d rows, %d patients, %d analytes, %.1f MiB",
        len(long),
        long["patient"].nunique(),
        long["analyte"].nunique(),
        long.memory_usage().sum() / 2**20,
    )
    return long.pivot(index="patient", columns="analyte", values="value")


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=12_000)
    parser.add_argument(
        "--cap", type=int, default=900, help="MiB the driver may grow by"
    )
    args = parser.parse_args()
    logging.basicConfig(
        level=logging.INFO, format="%(asctime)s %(levelname)s %(name)s: %(message)s"
    )

    with (
        LocalCluster(
            n_workers=2,
            threads_per_worker=1,
            memory_limit="300MiB",
            dashboard_address=":0",
        ) as cluster,
        Client(cluster) as client,
    ):
        client.wait_for_workers(2, timeout=120)
        cap_address_space(args.cap)

        raw = client.map(read_results, CLINICS, rows=args.rows)
        cleaned = client.map(clean, raw)
        sizes = client.map(describe, cleaned)
        wait(cleaned + sizes, timeout=300)
        for clinic, size in zip(CLINICS, client.gather(sizes)):
            log.info("%-8s %s", clinic, size)

        frames = client.gather(cleaned)
        log.info("gathered %d frames", len(frames))
        table = widen(frames)
        coverage = table.notna().mean().sort_values(ascending=False)
        log.info(
            "panel %s, best covered: %s", table.shape, ", ".join(coverage.index[:5])
        )
    log.info("panel is ready")
    return 0


if __name__ == "__main__":
    sys.exit(main())
