"""Starts scheduler and workers of the kiln models as own processes that must not outlive this job."""

import ctypes
import json
import signal
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

from dask.distributed import Client

PR_SET_PDEATHSIG = 1
libc = ctypes.CDLL(None)


def end_with_parent():
    libc.prctl(PR_SET_PDEATHSIG, signal.SIGKILL)


def dask_command(*args):
    return subprocess.Popen(
        [sys.executable, "-m", "distributed.cli." + args[0], *args[1:]],
        preexec_fn=end_with_parent,
    )


def kiln(temperature):
    return temperature * 0.83


def main():
    processes = []
    with tempfile.TemporaryDirectory() as folder:
        contact = str(Path(folder) / "scheduler.json")
        try:
            processes.append(
                dask_command(
                    "dask_scheduler",
                    "--host",
                    "127.0.0.1",
                    "--port",
                    "0",
                    "--no-dashboard",
                    "--scheduler-file",
                    contact,
                )
            )
            while not Path(contact).exists():
                time.sleep(0.2)
            print("scheduler:", json.loads(Path(contact).read_text())["address"])

            def add_worker(n):
                processes.append(
                    dask_command(
                        "dask_worker",
                        "--scheduler-file",
                        contact,
                        "--host",
                        "127.0.0.1",
                        "--nthreads",
                        "1",
                        "--no-nanny",
                        "--no-dashboard",
                        "--name",
                        f"kiln-{n}",
                        "--local-directory",
                        folder,
                    )
                )

            starters = [
                threading.Thread(target=add_worker, args=(n,)) for n in range(2)
            ]
            [s.start() for s in starters]
            [s.join() for s in starters]
            with Client(scheduler_file=contact) as client:
                client.wait_for_workers(2, timeout=20)
                print(client.gather(client.map(kiln, range(900, 1000, 10))))
        finally:
            print("state at the end:", [process.poll() for process in processes])
            for process in processes:
                process.kill()
                process.wait()


if __name__ == "__main__":
    main()
