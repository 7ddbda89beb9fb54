"""Publish scores; WAREHOUSE_DSN was exported in the driver's shell only."""

import os
import subprocess
import sys
import tempfile

from dask.distributed import Client

FILE = tempfile.mkdtemp() + "/scheduler.json"


def publish(batch):
    dsn = os.environ["WAREHOUSE_DSN"]
    return f"{dsn}/scores/{batch}"


def run(*words):
    command = [sys.executable, "-m", "dask", *words, "--scheduler-file", FILE]
    return subprocess.Popen(command)


if __name__ == "__main__":
    cluster = [run("scheduler", "--port", "0", "--no-dashboard")]
    cluster.append(run("worker", "--nworkers", "2", "--nthreads", "1"))
    os.environ["WAREHOUSE_DSN"] = "postgresql://warehouse/prod"
    try:
        print("first", publish(0))
        client = Client(scheduler_file=FILE)
        client.wait_for_workers(2)
        for line in client.gather(client.map(publish, range(1, 9))):
            print(line)
    finally:
        for process in reversed(cluster):
            process.terminate()
            process.wait()
