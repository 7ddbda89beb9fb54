"""Pilchard catches by square and day, run on the quarterly game day: one machine is switched off while the job runs."""

import logging
import os
import signal
import threading
import time

import dask
import numpy as np
from distributed import Client, LocalCluster

log = logging.getLogger("catches")
SQUARES = [
    f"{row}{column}"
    for row in ("29", "30", "31")
    for column in ("E4", "E5", "E6", "E7")
]


def haul(square, day):
    rng = np.random.default_rng([sum(square.encode()), day])
    time.sleep(0.25)
    return rng.gamma(2.0, 3.0, size=5_000)


def tonnage(hauls):
    return float(sum(h.sum() for h in hauls)) / 1000


class GameDay(threading.Thread):
    """Switches off the named worker's process after some seconds and notes when."""

    def __init__(self, pid, after):
        super().__init__(daemon=True)
        self.pid, self.after = pid, after

    def run(self):
        time.sleep(self.after)
        log.warning("game day: switching off process %d", self.pid)
        os.kill(self.pid, signal.SIGKILL)


def victim(client):
    pids = client.run(os.getpid)
    address = sorted(pids)[0]
    log.info("workers: %s", pids)
    return pids[address]


def main():
    logging.basicConfig(
        level=logging.INFO, format="%(asctime)s %(name)s %(levelname)s %(message)s"
    )
    dask.config.set({"distributed.scheduler.allowed-failures": 5})
    with LocalCluster(
        n_workers=2, threads_per_worker=2, memory_limit="400MB", dashboard_address=None
    ) as cluster:
        with Client(cluster) as client:
            drill = GameDay(victim(client), after=3.0)
            drill.start()
            totals = {}
            for square in SQUARES:
                hauls = client.map(haul, [square] * 7, range(7))
                totals[square] = client.submit(tonnage, hauls)
            result = client.gather(totals)
            drill.join()
    assert len(result) == len(SQUARES) and all(v > 0 for v in result.values())
    for square, tonnes in sorted(result.items()):
        print(f"{square}: {tonnes:7.2f} t")


if __name__ == "__main__":
    main()
