"""Moth traps: classify the night's photographs, in the batch system's short queue."""

import os
import subprocess
import sys
import time

from dask.distributed import Client, as_completed

QUEUE = """
import os, signal, sys, time
time.sleep(float(sys.argv[2]))
try:
    os.kill(int(sys.argv[1]), signal.SIGKILL)
except ProcessLookupError:
    pass
"""


def classify(photo):
    time.sleep(0.8)
    return ["hawk", "tiger", "emperor"][photo % 3]


def submit_to_queue(walltime):
    subprocess.Popen(
        [sys.executable, "-c", QUEUE, str(os.getpid()), str(walltime)],
        start_new_session=True,
    )


def main():
    submit_to_queue(walltime=14)
    seen = {}
    with Client(
        n_workers=2, threads_per_worker=1, processes=False, dashboard_address=":0"
    ) as client:
        photos = client.map(classify, range(60))
        for n, future in enumerate(as_completed(photos)):
            seen[future.result()] = seen.get(future.result(), 0) + 1
            if n % 6 == 0:
                print(n, seen, flush=True)
    print("all", seen)


if __name__ == "__main__":
    main()
