"""Resample a signal beside a task that waits for a ticket."""

import time

import dask
import numpy as np
from dask.distributed import Client, LocalCluster

dask.config.set({"distributed.scheduler.allowed-failures": 0})


def wait_for_ticket(number):
    time.sleep(40)
    return f"ticket-{number}"


def resample(factor):
    pieces = []
    for _ in range(factor * 20):
        pieces.append(np.random.random(2_500_000))
        time.sleep(0.15)
    return float(np.concatenate(pieces).mean())


if __name__ == "__main__":
    cluster = LocalCluster(
        n_workers=1, threads_per_worker=2, memory_limit="500MiB", dashboard_address=":0"
    )
    client = Client(cluster)
    ticket = client.submit(wait_for_ticket, 17)
    signal = client.submit(resample, 3)
    print(ticket.result())
    print(signal.result())
