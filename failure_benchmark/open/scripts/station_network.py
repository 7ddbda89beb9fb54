"""Starts workers for the readings of weather stations from a batch script."""

import os
import signal
import subprocess
import sys
import tempfile
import time

from dask.distributed import Client

DASK = os.path.join(os.path.dirname(sys.executable), "dask")
SETUP = "import time\n\n\ndef dask_setup(worker):\n    time.sleep(60)  # maps\n"

if __name__ == "__main__":
    folder = tempfile.mkdtemp()
    file, maps = os.path.join(folder, "s.json"), os.path.join(folder, "load_maps.py")
    with open(maps, "w") as out:
        out.write(SETUP)
    common = ["--scheduler-file", file]
    scheduler = [DASK, "scheduler", "--port", "0", "--dashboard-address", ":0", *common]
    worker = [DASK, "worker", "--nthreads", "1", "--no-dashboard", *common]
    worker += ["--death-timeout", "8", "--preload", maps]
    started = [
        subprocess.Popen(command, start_new_session=True)
        for command in (scheduler, worker, worker)
    ]
    try:
        while not os.path.exists(file):
            time.sleep(0.1)
        with Client(scheduler_file=file) as client:
            client.wait_for_workers(2, timeout=20)
            print(client.submit(sum, [1, 2]).result())
    finally:
        for process in started:
            try:
                os.killpg(process.pid, signal.SIGKILL)
            except ProcessLookupError:
                pass
