"""Ask a slow licence server from the workers; we cannot wait for ever."""

import subprocess
import sys
import tempfile
import time

from dask.distributed import Client


def check_licence(seat):
    # the server answers when it likes
    time.sleep(0.05 if seat % 8 else 600)
    return seat


def main():
    file = tempfile.mkdtemp() + "/scheduler.json"
    python = [sys.executable, "-m", "dask"]
    processes = [
        subprocess.Popen(
            [*python, "scheduler", "--port=0", f"--scheduler-file={file}"]
            + ["--dashboard-address=:0"]
        ),
        subprocess.Popen(
            [*python, "worker", f"--scheduler-file={file}", "--nthreads=1"]
        ),
        subprocess.Popen(
            [*python, "worker", f"--scheduler-file={file}", "--nthreads=1"]
        ),
    ]
    try:
        client = Client(scheduler_file=file)
        client.wait_for_workers(2)
        seats = client.map(check_licence, range(1, 33))
        deadline = time.time() + 14
        for future in seats:
            future.result(timeout=max(0.1, deadline - time.time()))
        print("all seats are licensed")
    finally:
        for process in processes:
            process.kill()
            process.wait()


if __name__ == "__main__":
    main()
