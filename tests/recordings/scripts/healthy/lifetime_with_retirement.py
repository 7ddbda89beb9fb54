"""A worker's lifetime ends; it retires, and its successor goes on."""

import pathlib
import subprocess
import tempfile
import time

from dask.distributed import Client


def step(n):
    time.sleep(0.25)
    return n


def main():
    file = pathlib.Path(tempfile.mkdtemp()) / "scheduler.json"
    common = ["--no-dashboard", "--scheduler-file", str(file)]
    started = [subprocess.Popen(["dask", "scheduler", "--port", "0", *common])]
    try:
        while not file.exists():
            time.sleep(0.1)
        for lifetime in ("10s", "300s"):
            started.append(
                subprocess.Popen(
                    [
                        "dask",
                        "worker",
                        "--nthreads",
                        "1",
                        "--lifetime",
                        lifetime,
                        "--lifetime-restart",
                        *common,
                    ]
                )
            )
        with Client(scheduler_file=str(file)) as client:
            client.wait_for_workers(2, timeout=60)
            print(sum(client.gather(client.map(step, range(100)))))
    finally:
        for each in reversed(started):
            each.terminate()
        for each in started:
            each.wait()


if __name__ == "__main__":
    main()
