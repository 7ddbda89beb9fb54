"""Workers with a lifetime that is shorter than the tasks."""

import pathlib
import subprocess
import tempfile
import time

from dask.distributed import Client


def train(epoch):
    end = time.monotonic() + 60
    while time.monotonic() < end:
        time.sleep(0.05)
    return epoch


def main():
    file = pathlib.Path(tempfile.mkdtemp()) / "scheduler.json"
    common = ["--no-dashboard", "--scheduler-file", str(file)]
    started = [subprocess.Popen(["dask", "scheduler", "--port", "0", *common])]
    try:
        while not file.exists():
            time.sleep(0.1)
        started.append(
            subprocess.Popen(
                [
                    "dask",
                    "worker",
                    "--nthreads",
                    "1",
                    "--lifetime",
                    "12s",
                    "--lifetime-restart",
                    *common,
                ]
            )
        )
        with Client(scheduler_file=str(file)) as client:
            client.wait_for_workers(1, timeout=60)
            print(client.submit(train, 1).result())
    finally:
        for each in reversed(started):
            each.terminate()
        for each in started:
            each.wait()


if __name__ == "__main__":
    main()
