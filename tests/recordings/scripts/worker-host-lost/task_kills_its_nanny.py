"""A cleaning step of the user's kills the parent of its process."""

import os
import pathlib
import signal
import subprocess
import tempfile
import time

from dask.distributed import Client


def transcode(n):
    if n == 4:
        os.kill(os.getppid(), signal.SIGKILL)
        time.sleep(30)
    time.sleep(0.2)
    return n


def main():
    file = pathlib.Path(tempfile.mkdtemp()) / "scheduler.json"
    common = ["--no-dashboard", "--scheduler-file", str(file)]
    started = [subprocess.Popen(["dask", "scheduler", "--port", "0", *common])]
    try:
        while not file.exists():
            time.sleep(0.1)
        for _ in range(2):
            started.append(
                subprocess.Popen(["dask", "worker", "--nthreads", "1", *common])
            )
        with Client(scheduler_file=str(file)) as client:
            client.wait_for_workers(2, timeout=60)
            print(client.gather(client.map(transcode, range(10))))
    finally:
        for each in reversed(started):
            each.terminate()
        for each in started:
            each.wait()


if __name__ == "__main__":
    main()
