"""Prism angles on a cluster of its own; a plugin of the scheduler keeps the department's quota of finished tasks."""

import asyncio
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from dask.distributed import Client, SchedulerPlugin


class QuotaGuard(SchedulerPlugin):
    name = "quota-guard"

    def __init__(self, quota):
        self.quota = quota
        self.finished = 0

    def start(self, scheduler):
        self.scheduler = scheduler

    def transition(self, key, start, finish, *args, **kwargs):
        if finish == "memory":
            self.finished += 1
            if self.finished == self.quota:
                asyncio.get_running_loop().create_task(
                    self.scheduler.close(reason="quota of the department is used up")
                )


def angle(n):
    time.sleep(0.1)
    return 60 + n * 0.01


def command(*args):
    return subprocess.Popen(
        [sys.executable, "-m", "distributed.cli." + args[0], *args[1:]]
    )


def main():
    with tempfile.TemporaryDirectory() as folder:
        contact = str(Path(folder) / "contact.json")
        processes = [
            command(
                "dask_scheduler",
                "--host",
                "127.0.0.1",
                "--port",
                "0",
                "--no-dashboard",
                "--scheduler-file",
                contact,
            )
        ]
        try:
            processes.append(
                command(
                    "dask_worker",
                    "--scheduler-file",
                    contact,
                    "--host",
                    "127.0.0.1",
                    "--nthreads",
                    "2",
                    "--no-dashboard",
                    "--local-directory",
                    folder,
                )
            )
            while not Path(contact).exists():
                time.sleep(0.2)
            with Client(scheduler_file=contact) as client:
                client.wait_for_workers(1, timeout=30)
                client.register_plugin(QuotaGuard(quota=40))
                angles = client.map(angle, range(120))
                print(
                    "mean angle:",
                    client.submit(lambda a: sum(a) / len(a), angles).result(timeout=30),
                )
        finally:
            for process in processes:
                process.terminate()
            for process in processes:
                try:
                    process.wait(10)
                except subprocess.TimeoutExpired:
                    process.kill()


if __name__ == "__main__":
    main()
