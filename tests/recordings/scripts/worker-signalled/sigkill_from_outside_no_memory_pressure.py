"""Match records; operations kills a process it does not know."""

import os
import subprocess
import time

import dask
from distributed import Client, LocalCluster

dask.config.set({"distributed.scheduler.allowed-failures": 0})


def match(block):
    if block == 4:
        with open("matcher.pid", "w") as file:
            file.write(str(os.getpid()))
        time.sleep(15)
    time.sleep(0.1)
    return block


OPERATIONS = """
for n in 1 2; do
    until [ -s matcher.pid ]; do sleep 0.1; done
    sleep 1
    kill -9 $(cat matcher.pid)
    rm matcher.pid
done
"""

if __name__ == "__main__":
    with LocalCluster(
        n_workers=2, threads_per_worker=1, dashboard_address=":0"
    ) as cluster:
        with Client(cluster) as client:
            operations = subprocess.Popen(["sh", "-c", OPERATIONS])
            try:
                print(client.gather(client.map(match, range(10))))
            finally:
                operations.kill()
