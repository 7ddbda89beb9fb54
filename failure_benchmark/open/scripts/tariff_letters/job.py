"""Writes letters about a new tariff; workers run elsewhere."""

import os
import signal
import subprocess
import sys
import tempfile
import time

from dask.distributed import Client
from tariffs import letter

DASK = os.path.join(os.path.dirname(sys.executable), "dask")

if __name__ == "__main__":
    elsewhere = tempfile.mkdtemp()
    file = os.path.join(elsewhere, "scheduler.json")
    env = {key: value for key, value in os.environ.items() if key != "PYTHONPATH"}
    common = ["--scheduler-file", file]
    commands = [
        [DASK, "scheduler", "--port", "0", "--dashboard-address", ":0", *common]
    ]
    commands += [[DASK, "worker", "--nthreads", "1", "--no-dashboard", *common]] * 2
    started = [
        subprocess.Popen(each, cwd=elsewhere, env=env, start_new_session=True)
        for each in commands
    ]
    try:
        while not os.path.exists(file):
            time.sleep(0.1)
        with Client(scheduler_file=file) as client:
            client.wait_for_workers(2, timeout=30)
            for text in client.gather(client.map(letter, range(10))):
                print(text)
    finally:
        for process in started:
            try:
                os.killpg(process.pid, signal.SIGKILL)
            except ProcessLookupError:
                pass
