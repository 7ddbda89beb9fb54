"""An operator presses Ctrl-C in the terminal of `dask worker`."""

import pathlib
import signal
import subprocess
import tempfile
import threading
import time

from dask.distributed import Client


def align(n):
    time.sleep(20 if n == 3 else 0.3)
    return n


def main():
    file = pathlib.Path(tempfile.mkdtemp()) / "scheduler.json"
    common = ["--no-dashboard", "--scheduler-file", str(file)]
    started = [subprocess.Popen(["dask", "scheduler", "--port", "0", *common])]
    try:
        while not file.exists():
            time.sleep(0.1)
        started.append(
            subprocess.Popen(
                ["dask", "worker", "--nthreads", "1", *common], start_new_session=True
            )
        )
        with Client(scheduler_file=str(file)) as client:
            client.wait_for_workers(1, timeout=60)
            futures = client.map(align, range(8))
            threading.Timer(6, started[1].send_signal, [signal.SIGINT]).start()
            print(client.gather(futures))
    finally:
        for each in reversed(started):
            each.terminate()
        for each in started:
            each.wait()


if __name__ == "__main__":
    main()
