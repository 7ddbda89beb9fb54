"""Join readings with themselves on a cluster that lives as long as this script."""

import subprocess
import sys
import tempfile

import dask
import numpy as np
import pandas as pd
from dask.distributed import Client

TMP = tempfile.TemporaryDirectory()
FILE = f"{TMP.name}/scheduler.json"


def readings(day):
    rng = np.random.default_rng(day)
    return pd.DataFrame(
        {"sensor": rng.integers(0, 4, 20_000), "value": rng.random(20_000)}
    )


def pairs(frame):
    both = frame.merge(frame, on="sensor")
    return float((both["value_x"] * both["value_y"]).mean())


def launch(*words):
    return subprocess.Popen([sys.executable, "-m", "dask", *words], cwd=TMP.name)


if __name__ == "__main__":
    running = [
        launch("scheduler", "--port", "0", "--scheduler-file", FILE, "--no-dashboard")
    ]
    for number in range(2):
        words = ["--scheduler-file", FILE, "--name", f"w{number}", "--nthreads", "1"]
        running.append(launch("worker", *words, "--memory-limit", "400MiB"))
    try:
        client = Client(scheduler_file=FILE)
        client.wait_for_workers(2)
        days = [dask.delayed(readings)(day) for day in range(4)]
        result = dask.compute(*[dask.delayed(pairs)(day) for day in days])
        print(result)
    finally:
        for process in running:
            process.terminate()
        for process in running:
            process.wait()
        TMP.cleanup()
