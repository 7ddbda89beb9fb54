"""Run the night batch on its own scheduler and workers, then take them down."""

import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from dask.distributed import Client


def total(batch):
    return sum(i * batch % 11 for i in range(50_000))


def main():
    with tempfile.TemporaryDirectory() as tmp:
        info = Path(tmp) / "night.json"
        run = [sys.executable, "-m", "dask"]
        sched = subprocess.Popen(
            run
            + [
                "scheduler",
                "--port",
                "0",
                "--no-dashboard",
                "--dashboard-address",
                ":0",
                "--scheduler-file",
                str(info),
            ],
            cwd=tmp,
        )
        while not info.exists():
            time.sleep(0.2)
        workers = subprocess.Popen(
            run
            + [
                "worker",
                "--scheduler-file",
                str(info),
                "--nworkers",
                "2",
                "--nthreads",
                "1",
                "--no-dashboard",
            ],
            cwd=tmp,
        )
        with Client(scheduler_file=str(info)) as client:
            client.wait_for_workers(2, timeout=20)
            print("batches:", sum(client.gather(client.map(total, range(24)))))
        workers.send_signal(signal.SIGTERM)
        workers.wait(10)
        sched.kill()
        sched.wait(10)
        print("ended", workers.returncode, sched.returncode)


if __name__ == "__main__":
    main()
