"""Workers get the scheduler's address from a file of yesterday."""

import socket
import subprocess
import sys
import tempfile

from distributed import Client

PYTHON = [sys.executable, "-m", "dask"]


def yesterday():
    with socket.create_server(("127.0.0.1", 0)) as server:
        return f"tcp://127.0.0.1:{server.getsockname()[1]}"


if __name__ == "__main__":
    file = tempfile.mkdtemp() + "/today.json"
    scheduler = subprocess.Popen(
        [
            *PYTHON,
            "scheduler",
            "--port",
            "0",
            "--no-dashboard",
            "--scheduler-file",
            file,
        ]
    )
    workers = [
        subprocess.Popen([*PYTHON, "worker", yesterday(), "--nthreads", "1"])
        for _ in range(2)
    ]
    try:
        with Client(scheduler_file=file) as client:
            client.wait_for_workers(n_workers=2, timeout=12)
            print(client.submit(max, [3, 9, 4]).result())
    finally:
        for process in [*workers, scheduler]:
            process.kill()
            process.wait()
