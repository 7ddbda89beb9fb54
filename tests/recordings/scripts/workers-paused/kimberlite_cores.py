"""Loads the X-ray scans of a kimberlite drill campaign and looks for the diamond-bearing intervals.

The scans stay on the cluster while the geologist's three passes run over them.  Settings come from cores.json.
"""

import json
import logging
import signal
import time
from pathlib import Path

import dask
import numpy as np
from dask import delayed
from distributed import Client, LocalCluster

SETTINGS = {
    "cores": 26,
    "slices": 40,
    "pixels": 900,
    "workers": 2,
    "worker_memory": "400MB",
    "give_up_after": 22,
    "dask": {
        # the drill camp's disk is a memory card: nothing is written to it, and nobody is killed at night
        "distributed.worker.memory.target": False,
        "distributed.worker.memory.spill": False,
        "distributed.worker.memory.terminate": False,
        "distributed.worker.memory.pause": 0.7,
    },
}

log = logging.getLogger("cores")


class Campaign:
    def __init__(self, settings):
        self.settings = settings
        self.cores = [f"KB-{n:03d}" for n in range(settings["cores"])]

    def scans(self):
        s = self.settings
        return [
            load_scan(core, s["slices"], s["pixels"], dask_key_name=f"load_scan-{core}")
            for core in self.cores
        ]


@delayed
def load_scan(core, slices, pixels):
    rng = np.random.default_rng(int(core.split("-")[1]))
    scan = rng.integers(0, 255, size=(slices, pixels, pixels), dtype=np.uint8)
    time.sleep(0.2)
    return scan


@delayed
def dense_intervals(scan, level):
    means = scan.reshape(scan.shape[0], -1).mean(axis=1)
    return np.flatnonzero(means > level).tolist()


def on_alarm(signum, frame):
    raise TimeoutError("scan passes did not come to an end, campaign report is skipped")


def main():
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(message)s")
    path = Path("cores.json")
    if not path.exists():
        path.write_text(json.dumps(SETTINGS, indent=2))
    settings = json.loads(path.read_text())
    dask.config.set(settings["dask"])

    signal.signal(signal.SIGALRM, on_alarm)
    campaign = Campaign(settings)
    cluster = LocalCluster(
        n_workers=settings["workers"],
        threads_per_worker=1,
        memory_limit=settings["worker_memory"],
        dashboard_address=None,
    )
    with cluster, Client(cluster) as client:
        signal.alarm(settings["give_up_after"])
        try:
            scans = client.persist(campaign.scans())
            report = {}
            for level in (127.3, 127.4, 127.5):
                started = time.monotonic()
                passes = client.compute(
                    [dense_intervals(scan, level) for scan in scans]
                )
                found = dict(zip(campaign.cores, client.gather(passes)))
                report[level] = {core: len(where) for core, where in found.items()}
                log.info("pass at %.1f took %.1f s", level, time.monotonic() - started)
        finally:
            signal.alarm(0)
    Path("report.json").write_text(json.dumps(report))


if __name__ == "__main__":
    main()
