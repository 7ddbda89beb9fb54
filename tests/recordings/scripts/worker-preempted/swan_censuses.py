"""Swan census: the workers run under timeout(1), as on the batch machine, so that no job outstays its slot."""

import subprocess
import sys
import tempfile
import time
from pathlib import Path

from dask.distributed import Client

SLOT = 25


def count(lake):
    time.sleep(3)
    return (lake * 37) % 51


def main():
    processes = []
    with tempfile.TemporaryDirectory() as folder:
        contact = Path(folder) / "scheduler.json"
        module = [sys.executable, "-m"]
        try:
            processes.append(
                subprocess.Popen(
                    [
                        *module,
                        "distributed.cli.dask_scheduler",
                        "--host",
                        "127.0.0.1",
                        "--port",
                        "0",
                        "--no-dashboard",
                        "--scheduler-file",
                        str(contact),
                    ]
                )
            )
            while not contact.exists():
                time.sleep(0.1)
            with Client(scheduler_file=str(contact)) as client:
                for n in range(2):
                    slot = [
                        "timeout",
                        str(SLOT),
                        *module,
                        "distributed.cli.dask_worker",
                        "--scheduler-file",
                        str(contact),
                    ]
                    processes.append(
                        subprocess.Popen(
                            [
                                *slot,
                                "--host",
                                "127.0.0.1",
                                "--nthreads",
                                "1",
                                "--no-dashboard",
                                "--name",
                                f"slot{n}",
                                "--local-directory",
                                folder,
                            ]
                        )
                    )
                client.wait_for_workers(1, timeout=22)
                swans = client.submit(sum, client.map(count, range(24)))
                print("swans:", swans.result(timeout=35))
        finally:
            for process in reversed(processes):
                process.terminate()
            for process in processes:
                try:
                    process.wait(8)
                except subprocess.TimeoutExpired:
                    process.kill()


if __name__ == "__main__":
    main()
