"""Age models for ice cores: calibrate each core, publish it, then compile the atlas."""

import logging
import sys
import threading
import time

import numpy as np
from dask.distributed import Client, LocalCluster, wait

log = logging.getLogger("ice_cores")

TIE_POINTS = {
    "agassiz-2": [(0, 0), (60, 900), (120, 2600), (240, 8800)],
    "camp-century": [(0, 0), (180, 760), (410, 2100), (890, 7600)],
    "devon-98": [(0, 0), (75, 1200), (150, 3300), (299, 11700)],
    "dye-3": [(0, 0), (220, 540), (640, 1400), (1370, 5200)],
    "edml-3": [(0, 0), (190, 2700), (412.5, 2410), (880, 12600)],
    "flade-isblink": [(0, 0), (100, 400), (250, 1300), (420, 3900)],
    "hans-tausen": [(0, 0), (90, 700), (210, 2200), (345, 4100)],
    "law-dome": [(0, 0), (300, 310), (700, 900), (1120, 6800)],
}


class Progress:
    """Counts the cores whose callback has run."""

    def __init__(self, total):
        self.total = total
        self.done = 0
        self.cond = threading.Condition()

    def tick(self):
        with self.cond:
            self.done += 1
            self.cond.notify_all()

    def join(self, timeout):
        with self.cond:
            return self.cond.wait_for(lambda: self.done >= self.total, timeout)


def isotope_record(core, n=4000):
    rng = np.random.default_rng(abs(hash(core)) % 2**32)
    depth = np.sort(rng.uniform(0, TIE_POINTS[core][-1][0], n))
    return depth, -35 + np.cumsum(rng.normal(0, 0.02, n))


def calibrate(core, ties):
    """Depth scale -> age scale; refuses an age model that runs backwards."""
    time.sleep(0.4)
    depth, delta = isotope_record(core)
    d, a = np.array(ties, dtype=float).T
    back = np.flatnonzero(np.diff(a) <= 0)
    if back.size:
        raise ValueError(f"age model of {core} is not monotonic at {d[back[0] + 1]} m")
    age = np.interp(depth, d, a)
    grid = np.arange(0, a[-1], 50.0)
    return np.column_stack([grid, np.interp(grid, age, delta)])


def make_publisher(client, core, progress):
    def publish(future):
        try:
            record = future.result()
            log.info("%s: %d steps of 50 years", core, len(record))
            client.publish_dataset(future, name=f"core/{core}")
        finally:
            progress.tick()

    return publish


def start_calibration(client):
    progress = Progress(len(TIE_POINTS))
    futures = []
    for core, ties in TIE_POINTS.items():
        f = client.submit(calibrate, core, ties, key=f"calibrate-{core}")
        f.add_done_callback(make_publisher(client, core, progress))
        futures.append(f)
    return futures, progress


def overlap(a, b):
    n = min(len(a), len(b))
    return float(np.corrcoef(a[:n, 1], b[:n, 1])[0, 1])


def compile_atlas(client, names):
    records = {}
    for core in names:
        records[core] = client.get_dataset(f"core/{core}")
    pairs = {}
    for i, a in enumerate(names):
        for b in names[i + 1 :]:
            pairs[a, b] = client.submit(overlap, records[a], records[b])
    return client.gather(pairs)


def main():
    logging.basicConfig(
        level=logging.INFO, format="%(asctime)s %(levelname)-7s %(name)s: %(message)s"
    )
    cluster = LocalCluster(
        n_workers=2, threads_per_worker=1, memory_limit="250MiB", dashboard_address=":0"
    )
    client = Client(cluster)
    try:
        futures, progress = start_calibration(client)
        wait(futures)
        if not progress.join(timeout=20):
            log.warning(
                "only %d of %d cores are through", progress.done, progress.total
            )
        log.info("calibration finished, compiling the atlas")
        best = max(
            compile_atlas(client, sorted(TIE_POINTS)).items(), key=lambda kv: kv[1]
        )
        log.info("best overlap %s/%s r=%.2f", *best[0], best[1])
    finally:
        client.close()
        cluster.close()
    return 0


if __name__ == "__main__":
    sys.exit(main())
