"""Two child processes use the parent's cluster one after the other."""

import subprocess
import sys

from dask.distributed import LocalCluster

CHILD = """
import sys
from dask.distributed import Client
with Client(sys.argv[1]) as client:
    print(sum(client.gather(client.map(len, ["x" * n for n in range(20)]))))
"""

if __name__ == "__main__":
    with LocalCluster(
        n_workers=2, threads_per_worker=1, dashboard_address=":0"
    ) as cluster:
        for _ in range(2):
            command = [sys.executable, "-c", CHILD, cluster.scheduler_address]
            subprocess.run(command, check=True)
