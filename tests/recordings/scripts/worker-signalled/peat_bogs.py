"""Carbon of the peat bogs; the login node's guard watches long processes."""

import os
import subprocess
import sys
import time

import dask
from dask.distributed import Client, LocalCluster

dask.config.set({"distributed.scheduler.allowed-failures": 0})

GUARD = """
import os, signal, sys, time
limit = float(sys.argv[1])
time.sleep(limit)
for pid in map(int, sys.argv[2:]):
    try:
        os.kill(pid, signal.SIGKILL)
    except ProcessLookupError:
        pass
"""


def carbon(bog):
    stock, layers = 0.0, 4000
    for layer in range(layers):
        stock += (bog * layer) % 17 / layers
        time.sleep(0.004)
    return bog, stock


def watched(client, limit):
    pids = client.run(os.getpid).values()
    return subprocess.Popen([sys.executable, "-c", GUARD, str(limit), *map(str, pids)])


def main():
    with (
        LocalCluster(
            n_workers=1, threads_per_worker=2, dashboard_address=":0"
        ) as cluster,
        Client(cluster) as client,
    ):
        guard = watched(client, 6)
        try:
            for bog, stock in client.gather(client.map(carbon, range(4))):
                print(bog, round(stock, 2))
        finally:
            guard.wait()


if __name__ == "__main__":
    main()
