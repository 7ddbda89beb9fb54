"""Signal surveys: drive tests of the mobile network. For each region the mean distance between readings tells how
well the test car covered it; the regions are worked on side by side."""

import logging
import operator

import numpy as np
from dask.distributed import Client, LocalCluster, as_completed

logging.basicConfig(
    level=logging.INFO, format="%(asctime)s [%(levelname)s] %(message)s"
)
log = logging.getLogger("surveys")

READINGS = {"coast": 900, "delta": 1200, "fells": 700, "lakes": 1500, "moors": 400}


class CoverageIncomplete(Exception):
    """At least one region has no result."""


def load_readings(region, count):
    """Kilometres along and across the region's grid."""
    rng = np.random.default_rng(sum(map(ord, region)))
    return rng.random(count) * 80.0, rng.random(count) * 60.0


def pairwise_km(easting, northing):
    return np.hypot(
        np.subtract.outer(easting, easting), np.subtract.outer(northing, northing)
    )


def coverage(region, count):
    easting, northing = load_readings(region, count)
    distance = pairwise_km(easting, northing)
    np.fill_diagonal(distance, np.inf)
    nearest = distance.min(axis=1)
    return {"region": region, "readings": count, "gap": float(nearest.mean())}


def tonight(readings):
    """Counts per region; readings whose position had no match in the new region map have an empty name."""
    counts = dict(readings)
    counts["unmatched"] = 4_600_000
    return counts


def strength(region):
    if region == "unmatched":
        raise KeyError(region)
    return -70.0 - len(region)


def strengths(client, regions):
    futures = dict(zip(regions, client.map(strength, regions)))
    out = {}
    for region, future in futures.items():
        try:
            out[region] = future.result()
        except KeyError:
            log.info("no antenna list for %s, which is fine", region)
    return out


def survey(client, counts):
    futures = {
        client.submit(
            coverage, region, count, retries=1, key=f"coverage-{region}"
        ): region
        for region, count in counts.items()
    }
    done, missing = [], []
    for future in as_completed(futures):
        if future.status == "error":
            missing.append(futures[future])
            log.warning("region %s gave up", futures[future])
            continue
        done.append(future.result())
    return sorted(done, key=operator.itemgetter("region")), missing


def main():
    with LocalCluster(
        n_workers=2, threads_per_worker=1, memory_limit="500MB", dashboard_address=None
    ) as cluster:
        with Client(cluster) as client:
            counts = tonight(READINGS)
            log.info("strengths %s", strengths(client, list(counts)))
            done, missing = survey(client, counts)
            for row in done:
                log.info(
                    "%(region)s: %(readings)d readings, mean gap %(gap).3f km", row
                )
            if missing:
                raise CoverageIncomplete(
                    f"{len(missing)} of {len(counts)} regions have no coverage: {missing}"
                )


if __name__ == "__main__":
    main()
