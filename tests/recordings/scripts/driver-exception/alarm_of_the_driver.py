"""Simulate, for 15 s at most: an alarm of the driver's own."""

import signal
import time

from dask.distributed import Client


class OverBudget(Exception):
    pass


def ring(number, frame):
    raise OverBudget("simulation took longer than its 15 s")


def simulate(seed):
    end = time.monotonic() + 0.8
    total = seed
    while time.monotonic() < end:
        total = (total * 31 + 7) % 1_000_003
    return total


if __name__ == "__main__":
    signal.signal(signal.SIGALRM, ring)
    with Client(n_workers=2, threads_per_worker=1, dashboard_address=":0") as client:
        signal.alarm(15)
        print(sum(client.gather(client.map(simulate, range(200)))))
