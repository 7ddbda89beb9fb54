"""Rail freight: simulate the yards on a worker that the site's template starts."""

import shlex
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from dask.distributed import Client

SCHEDULER = "-m dask scheduler --port 0 --no-dashboard --scheduler-file {info}"
WORKER = (
    "-m dask worker --scheduler-file {info} --no-dashboard --nthreads 2"
    " --lifetime 10s --local-directory {folder}"
)


def launch(template, **values):
    return subprocess.Popen([sys.executable, *shlex.split(template.format(**values))])


def simulate(yard):
    wagons = 0
    for step in range(200):
        wagons = (wagons * 31 + yard + step) % 997
        time.sleep(0.1)
    return yard, wagons


def main():
    with tempfile.TemporaryDirectory() as tmp:
        info = Path(tmp) / "scheduler.json"
        running = [launch(SCHEDULER, info=info)]
        try:
            while not info.exists():
                time.sleep(0.2)
            running.append(launch(WORKER, info=info, folder=tmp))
            client = Client(scheduler_file=str(info), timeout=20)
            client.wait_for_workers(1, timeout=30)
            futures = client.map(simulate, range(4))
            for future in futures:
                print(future.result(timeout=24))
            client.close()
        finally:
            for process in reversed(running):
                process.terminate()
                process.wait(20)


if __name__ == "__main__":
    main()
