"""Score the hazel applicants on a hand-made cluster: scheduler and workers as own processes."""

import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from distributed import Client

SETTINGS = {"nthreads": "2", "memory_limit": "2 gigs", "count": 2}


def score(applicant):
    return applicant * 7 % 100


def spawn(*args):
    with open(os.devnull, "w") as quiet:
        return subprocess.Popen([sys.executable, "-m", "dask", *args], stdout=quiet)


def main():
    with tempfile.TemporaryDirectory() as tmp:
        sched_file = Path(tmp) / "scheduler.json"
        procs = [
            spawn(
                "scheduler",
                "--host",
                "127.0.0.1",
                "--port",
                "0",
                "--dashboard-address",
                "127.0.0.1:0",
                "--scheduler-file",
                str(sched_file),
            )
        ]
        try:
            while not sched_file.exists():
                time.sleep(0.2)
            for _ in range(SETTINGS["count"]):
                procs.append(
                    spawn(
                        "worker",
                        "--scheduler-file",
                        str(sched_file),
                        "--nthreads",
                        SETTINGS["nthreads"],
                        "--memory-limit",
                        SETTINGS["memory_limit"],
                        "--no-dashboard",
                        "--local-directory",
                        tmp,
                    )
                )
            with Client(scheduler_file=str(sched_file), timeout=60) as client:
                client.wait_for_workers(SETTINGS["count"], timeout=30)
                print(sum(client.gather(client.map(score, range(500)))))
        finally:
            for proc in reversed(procs):
                proc.terminate()
                proc.wait()


if __name__ == "__main__":
    main()
