"""Fog models: run members on the cluster, blend them here, then run the second guess."""

import os
import subprocess
import sys
import tempfile
import time

import numpy as np
from dask.distributed import Client


def member(seed):
    rng = np.random.default_rng(seed)
    return rng.random((50, 50)).cumsum(axis=0)


def second_guess(blend, seed):
    return float(np.abs(blend - member(seed)).mean())


def blend(fields):
    """Iterative blending, single threaded."""
    out = np.zeros_like(fields[0])
    for sweep in range(40):
        for field in fields:
            out += (field - out) / 50
        time.sleep(0.35)
    return out


def main():
    folder = tempfile.TemporaryDirectory()
    info = os.path.join(folder.name, "scheduler.json")
    base = [sys.executable, "-m", "dask"]
    options = ["--scheduler-file", info, "--no-dashboard"]
    scheduler = subprocess.Popen(
        base + ["scheduler", "--port", "0", "--idle-timeout", "6 seconds"] + options
    )
    while not os.path.exists(info):
        time.sleep(0.1)
    worker = subprocess.Popen(base + ["worker", "--nthreads", "1"] + options)
    try:
        client = Client(scheduler_file=info, timeout=10)
        members = client.map(member, range(20))
        best = blend(client.gather(members))
        guesses = [client.submit(second_guess, best, s) for s in range(20, 40)]
        print("error", min(client.gather(guesses)))
        client.close()
    finally:
        for process in (worker, scheduler):
            if process.poll() is None:
                process.terminate()
            process.wait(20)
        folder.cleanup()


if __name__ == "__main__":
    main()
