"""Two stages: a small cluster checks the hive scales, a larger one fits the nectar flows."""

import json
import tempfile
import time
from pathlib import Path

import numpy as np
from dask.distributed import Client, LocalCluster

SETTINGS = {
    "check": {"n_workers": 1, "threads_per_worker": 1, "memory_limit": "400MB"},
    "fit": {"n_workers": 2, "threads_per_worker": 1, "memory_limit": "700 megs"},
}


def check_scale(hive):
    rng = np.random.default_rng(hive)
    weights = 30 + np.cumsum(rng.normal(0.02, 0.3, 1440))
    time.sleep(0.25)
    return hive, bool(np.isfinite(weights).all())


def fit_flow(hive):
    rng = np.random.default_rng(hive)
    weights = 30 + np.cumsum(rng.normal(0.02, 0.3, 1440))
    slope, _ = np.polyfit(np.arange(1440), weights, 1)
    return hive, float(slope)


def stage(settings, function, hives):
    cluster = LocalCluster(dashboard_address=":0", **settings)
    try:
        with Client(cluster) as client:
            return client.gather(client.map(function, hives))
    finally:
        cluster.close()


def main():
    with tempfile.TemporaryDirectory() as name:
        path = Path(name) / "settings.json"
        path.write_text(json.dumps(SETTINGS))
        settings = json.loads(path.read_text())
        hives = list(range(25))
        healthy = [
            hive for hive, fine in stage(settings["check"], check_scale, hives) if fine
        ]
        print("scales in order:", len(healthy))
        flows = dict(stage(settings["fit"], fit_flow, healthy))
        best = max(flows, key=flows.get)
        print("best hive:", best, round(flows[best], 5))


if __name__ == "__main__":
    main()
