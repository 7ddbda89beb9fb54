"""Traces the tunnels of badger setts; the geometry code runs in a process of its own."""

import logging
import multiprocessing
import threading
import time

import dask
import numpy as np
import psutil
from dask.distributed import Client, LocalCluster, WorkerPlugin, get_worker, wait

log = logging.getLogger("badger")


class SettRegistry(WorkerPlugin):
    """Positions of all setts, one copy per worker."""

    name = "sett-registry"

    def setup(self, worker):
        self.guard = threading.Lock()
        self.positions = {}

    def reload(self, setts, passes):
        with self.guard:
            for number in range(passes):
                rng = np.random.default_rng(number)
                self.positions = {s: rng.uniform(0, 5000, 2) for s in range(setts)}
                time.sleep(0.5)
        return len(self.positions)

    def position(self, sett):
        with self.guard:
            return self.positions.get(sett, np.zeros(2))


def refresh_registry(setts):
    return get_worker().plugins["sett-registry"].reload(setts, passes=16)


def tunnel_length(registry, sett, pipe):
    start = registry.position(sett)
    steps = np.random.default_rng(sett).normal(0, 1.5, (400, 2))
    path = start + steps.cumsum(axis=0)
    pipe.send(float(np.hypot(*np.diff(path, axis=0).T).sum()))


def trace_sett(sett):
    registry = get_worker().plugins["sett-registry"]
    context = multiprocessing.get_context("fork")
    ours, theirs = context.Pipe(duplex=False)
    tracer = context.Process(target=tunnel_length, args=(registry, sett, theirs))
    tracer.start()
    theirs.close()
    tracer.join()
    return sett, ours.recv()


def main():
    logging.basicConfig(
        level=logging.INFO, format="%(asctime)s %(name)s %(levelname)s %(message)s"
    )
    dask.config.set({"distributed.worker.daemon": False})
    with (
        LocalCluster(
            n_workers=1, threads_per_worker=2, dashboard_address=":0"
        ) as cluster,
        Client(cluster) as client,
    ):
        client.register_plugin(SettRegistry())
        refreshed = client.submit(refresh_registry, 60, pure=False)
        time.sleep(2)
        traces = client.map(trace_sett, range(8))
        log.info("tracing %d setts", len(traces))
        try:
            wait([refreshed, *traces], timeout=25)
            lengths = dict(client.gather(traces))
            log.info("longest tunnel: sett %d", max(lengths, key=lengths.get))
        finally:
            helpers = psutil.Process().children(recursive=True)
            cluster.close(timeout=8)
            for helper in helpers:
                if helper.is_running():
                    helper.kill()


if __name__ == "__main__":
    main()
