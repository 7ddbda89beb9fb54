"""Tidal currents over a mudflat.

The flat is cut into strips along the shore. Each strip is a long-running task that steps a shallow-water
scheme and trades its edge rows with its neighbours through queues at every step.
"""

import configparser
import logging
import sys

import numpy as np
from dask.distributed import Client, LocalCluster, Queue, wait

log = logging.getLogger("currents")

INI = """
[grid]
rows = 240
cols = 160
strips = {strips}

[run]
steps = 40
dt = 0.05
patience = 18

[cluster]
workers = 2
threads = 2
"""


def edge(a, b, run):
    """The queue that carries edge rows from strip a to strip b."""
    return Queue(f"{run}-edge-{a}-{b}")


def exchange(strip, n, run, h):
    """Give the own edge rows to both neighbours and take theirs."""
    above = below = None
    if strip > 0:
        edge(strip, strip - 1, run).put(h[1].tolist())
    if strip < n - 1:
        edge(strip, strip + 1, run).put(h[-2].tolist())
    if strip > 0:
        above = np.array(edge(strip - 1, strip, run).get())
    if strip < n - 1:
        below = np.array(edge(strip + 1, strip, run).get())
    return above, below


def step(h, u, dt):
    grad = np.zeros_like(h)
    grad[1:-1] = (h[2:] - h[:-2]) / 2
    u = u - 9.81 * grad * dt * 0.02
    h = h.copy()
    h[1:-1] -= dt * (u[2:] - u[:-2]) / 2
    return h, u


def run_strip(strip, n, run, rows, cols, steps, dt):
    """All steps of one strip; returns its mean level and greatest speed."""
    rng = np.random.default_rng(strip)
    h = 1.5 + 0.1 * rng.random((rows + 2, cols))
    u = np.zeros_like(h)
    for _ in range(steps):
        above, below = exchange(strip, n, run, h)
        if above is not None:
            h[0] = above
        if below is not None:
            h[-1] = below
        h, u = step(h, u, dt)
    return strip, float(h[1:-1].mean()), float(np.abs(u).max())


def simulate(client, cfg, run):
    n = cfg.getint("grid", "strips")
    rows = cfg.getint("grid", "rows") // n
    futures = [
        client.submit(
            run_strip,
            s,
            n,
            run,
            rows,
            cfg.getint("grid", "cols"),
            cfg.getint("run", "steps"),
            cfg.getfloat("run", "dt"),
            key=f"run_strip-{run}-{s}",
        )
        for s in range(n)
    ]
    wait(futures, timeout=cfg.getint("run", "patience"))
    return sorted(client.gather(futures))


def main():
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(message)s")
    runs = {"coarse": 4, "fine": 6}
    with LocalCluster(
        n_workers=2, threads_per_worker=2, dashboard_address=":0", memory_limit="400MB"
    ) as cluster:
        with Client(cluster) as client:
            for run, strips in runs.items():
                cfg = configparser.ConfigParser()
                cfg.read_string(INI.format(strips=strips))
                log.info("%s run with %d strips", run, strips)
                for s, level, speed in simulate(client, cfg, run):
                    log.info(
                        "  strip %d: level %.3f m, speed %.3f m/s", s, level, speed
                    )
    return 0


if __name__ == "__main__":
    sys.exit(main())
