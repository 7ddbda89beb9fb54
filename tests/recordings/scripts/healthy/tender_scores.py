"""Score tenders on the small cluster; what is not done in time moves to a second cluster, the first one is closed."""

import logging
import sys
import time

import numpy as np
from dask.distributed import Client, LocalCluster, wait

logging.basicConfig(level=logging.INFO, format="%(levelname)s %(message)s")
log = logging.getLogger("tenders")


def score(tender, patience):
    rng = np.random.default_rng(tender)
    if tender >= 8:
        time.sleep(patience)  # the big ones read hundreds of annexes
    else:
        time.sleep(0.2)
    return tender, float(rng.beta(2, 3))


def first_pass(tenders, seconds):
    cluster = LocalCluster(
        n_workers=1, threads_per_worker=2, processes=False, dashboard_address=None
    )
    client = Client(cluster)
    futures = {t: client.submit(score, t, 9.0) for t in tenders}
    done = {}
    try:
        wait(list(futures.values()), timeout=seconds)
    except TimeoutError as exc:
        log.error("first pass timed out after %s s: %r", seconds, exc)
    for t, future in futures.items():
        if future.status == "finished":
            done[t] = future.result()[1]
    client.cancel(
        [f for f in futures.values() if not f.done()],
        force=True,
        reason="moved to the second pass",
    )
    client.close()
    cluster.close()
    return done


def second_pass(tenders):
    with LocalCluster(
        n_workers=2, threads_per_worker=1, processes=False, dashboard_address=None
    ) as cluster:
        with Client(cluster) as client:
            return dict(client.gather(client.map(score, tenders, patience=1.0)))


def main():
    tenders = list(range(10))
    scores = first_pass(tenders, seconds=4)
    left = [t for t in tenders if t not in scores]
    log.warning("%d tenders left over: %s", len(left), left)
    scores.update(second_pass(left))
    for t in sorted(scores, key=scores.get, reverse=True)[:3]:
        log.info("tender %d: %.3f", t, scores[t])
    return 0 if len(scores) == len(tenders) else 4


if __name__ == "__main__":
    sys.exit(main())
