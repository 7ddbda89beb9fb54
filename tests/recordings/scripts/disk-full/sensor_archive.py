import os
import shlex
import subprocess
import sys
import tempfile
import time

import numpy as np
from dask.distributed import Client

SETTINGS = {
    "DASK_DISTRIBUTED__WORKER__MEMORY__TARGET": "0.35",
    "DASK_DISTRIBUTED__WORKER__MEMORY__SPILL": "0.5",
    "DASK_DISTRIBUTED__WORKER__MEMORY__PAUSE": "0.7",
    "DASK_DISTRIBUTED__WORKER__MEMORY__MONITOR_INTERVAL": "100ms",
}


def decode(day):
    time.sleep(0.1)
    return np.random.default_rng(day).normal(size=6_000_000)


def drift(first, *rest):
    return float(first.mean() - sum(r.mean() for r in rest))


def main():
    folder = tempfile.mkdtemp(prefix="sensors-")
    sfile = os.path.join(folder, "sched.json")
    env = dict(os.environ, **SETTINGS)
    dask = f"{shlex.quote(sys.executable)} -m dask"
    scheduler = subprocess.Popen(
        [
            "bash",
            "-c",
            f"exec {dask} scheduler --port 0 --no-dashboard --scheduler-file {sfile}",
        ],
        env=env,
    )
    worker = subprocess.Popen(
        [
            "bash",
            "-c",
            f"ulimit -f 30000; exec {dask} worker --scheduler-file {sfile} --nthreads 1 --no-nanny "
            f"--no-dashboard --memory-limit 700MiB --local-directory {folder}",
        ],
        env=env,
    )
    try:
        with Client(scheduler_file=sfile, timeout=20) as client:
            client.wait_for_workers(1, timeout=20)
            days = client.map(decode, range(24))
            print("drift", client.submit(drift, *days).result(timeout=14))
    finally:
        for p in (worker, scheduler):
            p.terminate()
            p.wait(15)


if __name__ == "__main__":
    main()
