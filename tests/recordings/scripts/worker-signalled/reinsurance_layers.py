"""Prices the layers of a reinsurance programme by simulation.

Runs every evening on the shared actuarial host. The host is kept tidy by a small script of the administrators
which runs next to everything else; it is started here too, as on the host.
"""

import logging
import os
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from dask.distributed import Client, LocalCluster

log = logging.getLogger("layers")

TIDY = '''
"""Asks processes of the batch account that hold much memory for more than a moment to leave."""
import os, signal, sys, time
import psutil

LARGE = 190 * 2**20
root = psutil.Process(int(sys.argv[1]))
seen = {}
asked = 0
while asked < 1:
    time.sleep(0.25)
    for p in root.children(recursive=True):
        try:
            if p.pid == os.getpid() or "spawn_main" not in " ".join(p.cmdline()):
                continue
            large = p.memory_info().rss > LARGE
        except psutil.Error:
            continue
        seen[p.pid] = seen.get(p.pid, 0) + 1 if large else 0
        if seen[p.pid] >= 4:
            os.kill(p.pid, signal.SIGTERM)
            asked += 1
            break
'''


@dataclass(frozen=True)
class Layer:
    name: str
    attachment: float
    limit: float
    years: int


PROGRAMME = [
    Layer("working", 1e6, 2e6, 40_000),
    Layer("first", 3e6, 5e6, 40_000),
    Layer("second", 8e6, 12e6, 40_000),
    Layer("cat-low", 2e7, 3e7, 60_000),
    Layer("cat-top", 5e7, 1e8, 5_000_000),
    Layer("aggregate", 4e6, 1e7, 60_000),
]


def simulate_layer(layer, seed):
    """Mean ceded loss per year; years of the top layer are rare, so many are needed."""
    rng = np.random.default_rng(seed)
    losses = np.empty((layer.years, 6))
    for start in range(0, layer.years, 50_000):
        block = losses[start : start + 50_000]
        block[:] = rng.lognormal(13.5, 1.8, block.shape)
        time.sleep(0.1)
    ceded = 0.0
    for start in range(0, layer.years, 50_000):
        ceded += np.clip(
            losses[start : start + 50_000] - layer.attachment, 0, layer.limit
        ).sum()
    return layer.name, ceded / layer.years


def premium(result, loading=1.35):
    name, mean = result
    return name, round(mean * loading)


def main():
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(name)s: %(message)s")
    Path("tidy_host.py").write_text(TIDY)
    tidy = subprocess.Popen([sys.executable, "tidy_host.py", str(os.getpid())])
    try:
        with LocalCluster(
            n_workers=2,
            threads_per_worker=1,
            memory_limit="900MB",
            dashboard_address=None,
        ) as cluster:
            with Client(cluster) as client:
                means = [
                    client.submit(
                        simulate_layer, layer, i, key=f"simulate_layer-{layer.name}"
                    )
                    for i, layer in enumerate(PROGRAMME)
                ]
                premiums = client.map(premium, means)
                for name, amount in client.gather(premiums):
                    log.info("%-10s %12d", name, amount)
    finally:
        tidy.terminate()
        tidy.wait()


if __name__ == "__main__":
    main()
