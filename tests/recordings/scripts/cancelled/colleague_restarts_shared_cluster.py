"""A shared cluster, on which a colleague presses restart."""

import subprocess
import sys
import time

from dask.distributed import Client, LocalCluster

COLLEAGUE = """
import sys, time
from dask.distributed import Client
client = Client(sys.argv[1])
time.sleep(4)
client.restart()
"""


def crunch(n):
    time.sleep(1)
    return n


if __name__ == "__main__":
    with LocalCluster(
        n_workers=2, threads_per_worker=1, dashboard_address=":0"
    ) as cluster:
        client = Client(cluster)
        futures = client.map(crunch, range(40))
        futures[0].result()
        command = [sys.executable, "-c", COLLEAGUE, cluster.scheduler_address]
        colleague = subprocess.Popen(command)
        try:
            print(sum(client.gather(futures)))
        finally:
            colleague.wait()
