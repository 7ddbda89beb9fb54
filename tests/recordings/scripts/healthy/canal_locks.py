"""Water balance of the canal's locks, with the monthly drill: one worker is lost on purpose."""

import argparse
import logging
import os
import signal
import time

from dask.distributed import Client, LocalCluster, wait

log = logging.getLogger("locks")


def lockage(lock, day):
    time.sleep(0.12)
    boats = (lock * 11 + day * 3) % 17
    return lock, boats * 1450.0


def balance(parts):
    water = {}
    for lock, volume in parts:
        water[lock] = water.get(lock, 0.0) + volume
    return water


class Drill:
    """Proves that the night survives the loss of a machine."""

    def __init__(self, client):
        self.client = client

    def run(self):
        pids = self.client.run(os.getpid)
        address, pid = sorted(pids.items())[0]
        log.warning("drill: killing the worker at %s (pid %d)", address, pid)
        os.kill(pid, signal.SIGKILL)
        return pid

    def recovered(self, workers, lost):
        self.client.wait_for_workers(workers, timeout=20)
        for _ in range(100):
            pids = list(self.client.run(os.getpid, on_error="ignore").values())
            if len(pids) == workers and lost not in pids:
                return pids
            time.sleep(0.1)
        raise RuntimeError("drill failed: the lost worker did not come back")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--drill", action=argparse.BooleanOptionalAction, default=True)
    args = parser.parse_args()
    logging.basicConfig(level=logging.INFO)
    with (
        LocalCluster(
            n_workers=2, threads_per_worker=1, dashboard_address=None
        ) as cluster,
        Client(cluster) as client,
    ):
        futures = [
            client.submit(lockage, lock, day) for lock in range(6) for day in range(8)
        ]
        if args.drill:
            time.sleep(1.0)
            drill = Drill(client)
            lost = drill.run()
            drill.recovered(2, lost)
        wait(futures, timeout=30)
        water = client.submit(balance, futures).result(timeout=20)
        for lock, volume in sorted(water.items()):
            print(f"lock {lock}: {volume:.0f} m3")


if __name__ == "__main__":
    main()
