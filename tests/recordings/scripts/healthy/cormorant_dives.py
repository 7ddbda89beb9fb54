"""Depth profiles of tagged cormorants: big arrays on small workers."""

import argparse
import logging
import subprocess
import sys
import warnings

import numpy as np
from distributed import Client, Event, LocalCluster, Lock, get_worker

log = logging.getLogger("dives")

POINTS = 2_600_000


def dive_profile(bird):
    """About 20 MB of depths at 20 Hz."""
    rng = np.random.default_rng(bird)
    depth = rng.random(POINTS)
    depth *= 30
    return depth


def deepest(profile):
    if profile.max() > 29:
        warnings.warn("depth beyond the sensor's range", RuntimeWarning, stacklevel=1)
    return float(profile.max())


def full_correlation(birds):
    """The fast way; the matrix fits on the big machines only."""
    matrix = np.empty((POINTS, POINTS, birds))
    return float(matrix.mean())


def sampled_correlation(a, b):
    return float(np.corrcoef(a[::100], b[::100])[0, 1])


def correlate(client, profiles):
    try:
        return client.submit(full_correlation, len(profiles)).result()
    except MemoryError as e:
        log.error("full correlation is not possible here: %s", e)
    futures = client.map(sampled_correlation, profiles[:-1], profiles[1:])
    return float(np.mean(client.gather(futures)))


def tag_with_lock(tag):
    """Tags of the season's list are busy as long as the office edits it."""
    lock = Lock("tag-list")
    if not lock.acquire(timeout=1):
        get_worker().log_event("tags", {"tag": tag, "busy": True})
        return tag, False
    lock.release()
    return tag, True


def try_tags(client):
    office = Lock("tag-list")
    office.acquire()
    busy = client.gather(client.map(tag_with_lock, range(3), pure=False))
    office.release()
    free = client.gather(client.map(tag_with_lock, range(3), pure=False))
    return sum(not ok for _, ok in busy), sum(ok for _, ok in free)


def check_archive():
    """The checker says 2 for "nothing new", which is the usual case."""
    code = subprocess.run([sys.executable, "-c", "raise SystemExit(2)"]).returncode
    if code not in (0, 2):
        raise RuntimeError(f"archive checker failed: {code}")
    log.info("archive checker: exit code %d", code)


def probe_spare_cluster():
    """A spare cluster is tried and thrown away in the middle of its work."""
    with LocalCluster(
        n_workers=1, threads_per_worker=1, dashboard_address=":0"
    ) as spare:
        with Client(spare, set_as_default=False) as client:
            gate = client.submit(lambda: Event("gate").wait(timeout=300), pure=False)
            if client.submit(sum, [1, 2]).done() or gate.done():
                log.info("spare cluster is quick")
    log.warning("spare cluster is closed, its tasks are given up")


def main(argv=None):
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--birds", type=int, default=9)
    args = parser.parse_args(argv)
    logging.basicConfig(
        level=logging.INFO, format="%(levelname)s %(name)s: %(message)s"
    )

    check_archive()
    with (
        LocalCluster(
            n_workers=2,
            threads_per_worker=1,
            memory_limit="310MB",
            dashboard_address=":0",
        ) as cluster,
        Client(cluster) as client,
    ):
        profiles = client.map(dive_profile, range(args.birds))
        depths = client.gather(client.map(deepest, profiles))
        log.info("deepest dive: %.2f m", max(depths))
        log.info("correlation: %.4f", correlate(client, profiles))
        log.info("tags busy and free: %s", try_tags(client))
        leaving = sorted(client.scheduler_info()["workers"])[:1]
        del profiles
        client.retire_workers(leaving)
        log.warning("%s has been sent home", leaving[0])
        log.info(
            "bird 4 again: %.2f m",
            client.submit(deepest, dive_profile(4)[:500]).result(),
        )
    probe_spare_cluster()
    return 0


if __name__ == "__main__":
    sys.exit(main())
