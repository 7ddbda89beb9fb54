"""Biomass of woodland plots on a hand-made SpecCluster; one worker process is taken away half way, as on the spot pool."""

import logging
import signal
import time

import numpy as np
import psutil
from dask.distributed import Client, Nanny, Scheduler, SpecCluster

logging.basicConfig(
    level=logging.INFO, format="%(asctime)s %(levelname)s %(name)s %(message)s"
)
log = logging.getLogger("woodland")


def spec(n):
    options = {"nthreads": 1, "memory_limit": "600MiB", "dashboard": False}
    return {i: {"cls": Nanny, "options": dict(options)} for i in range(n)}


def biomass(plot):
    rng = np.random.default_rng(plot)
    stems = rng.weibull(2.1, 4000) * 22
    time.sleep(0.4)
    return plot, float((0.1 * stems**2.4).sum() / 1000)


def take_one_away(client):
    """What the spot market does to us on Fridays."""
    pids = client.run(lambda dask_worker: __import__("os").getpid())
    victim = pids[sorted(pids)[0]]
    log.warning("ERROR drill: killing worker process %d", victim)
    psutil.Process(victim).send_signal(signal.SIGKILL)


def main():
    cluster = SpecCluster(
        scheduler={
            "cls": Scheduler,
            "options": {"dashboard": False, "host": "127.0.0.1"},
        },
        workers=spec(2),
        name="woodland",
    )
    with cluster, Client(cluster) as client:
        client.wait_for_workers(2, timeout=40)
        futures = client.map(biomass, range(24))
        while sum(f.done() for f in futures) < 6:
            time.sleep(0.1)
        take_one_away(client)
        tons = dict(client.gather(futures))
        assert sorted(tons) == list(range(24))
        log.info("24 plots, %.1f t", sum(tons.values()))
    log.info("done")


if __name__ == "__main__":
    main()
