"""Rolling change of the worker under a running computation: the new one comes, the old one is told to stop."""

import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from dask.distributed import Client


def airflow(fan):
    time.sleep(0.3)
    return 10 + fan % 4


def start(tool, contact, *args):
    return subprocess.Popen(
        [
            sys.executable,
            "-m",
            f"distributed.cli.{tool}",
            "--scheduler-file",
            contact,
            "--no-dashboard",
            *args,
        ]
    )


def stop(process):
    process.send_signal(signal.SIGTERM)
    try:
        code = process.wait(15)
    except subprocess.TimeoutExpired:
        process.kill()
        code = process.wait()
    print("stopped with", code)


def main():
    with tempfile.TemporaryDirectory() as folder:
        contact = str(Path(folder) / "contact.json")
        scheduler = start(
            "dask_scheduler", contact, "--host", "127.0.0.1", "--port", "0"
        )
        workers = []
        try:
            workers.append(
                start(
                    "dask_worker",
                    contact,
                    "--host",
                    "127.0.0.1",
                    "--nthreads",
                    "1",
                    "--no-nanny",
                    "--local-directory",
                    folder,
                    "--name",
                    "old",
                )
            )
            while not Path(contact).exists():
                time.sleep(0.1)
            with Client(scheduler_file=contact) as client:
                client.wait_for_workers(1, timeout=40)
                workers.append(
                    start(
                        "dask_worker",
                        contact,
                        "--host",
                        "127.0.0.1",
                        "--nthreads",
                        "1",
                        "--no-nanny",
                        "--local-directory",
                        folder,
                        "--name",
                        "new",
                    )
                )
                futures = client.map(airflow, range(30))
                client.wait_for_workers(2, timeout=40)
                time.sleep(0.5)
                stop(workers.pop(0))
                print("airflow:", sum(client.gather(futures)))
        finally:
            for process in [*workers, scheduler]:
                stop(process)


if __name__ == "__main__":
    main()
