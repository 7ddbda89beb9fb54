"""Render a film on two machines, one of them a spot instance."""

import os
import subprocess
import tempfile
import time

os.environ["DASK_DISTRIBUTED__SCHEDULER__ALLOWED_FAILURES"] = "0"

from dask.distributed import Client

FILE = tempfile.mkdtemp() + "/scheduler.json"


def render(shot):
    time.sleep(60 if shot == 3 else 0.3)
    return f"shot-{shot:04}.exr"


if __name__ == "__main__":
    log = open("cluster.log", "w")
    scheduler = subprocess.Popen(
        ["dask", "scheduler", "--port=0", "--no-dashboard", f"--scheduler-file={FILE}"],
        stderr=log,
    )
    workers = [
        subprocess.Popen(
            ["dask", "worker", f"--scheduler-file={FILE}", "--nthreads=1"]
            + [f"--name=machine-{n}"],
            stderr=log,
        )
        for n in range(2)
    ]
    try:
        client = Client(scheduler_file=FILE)
        client.wait_for_workers(2, timeout=60)
        shots = client.map(render, range(6), workers=["machine-1"])
        time.sleep(4)
        # what the provider's agent does, two minutes before it takes the machine
        subprocess.run(["kill", "-TERM", str(workers[1].pid)], check=True)
        print(client.gather(shots))
    finally:
        for process in [*workers, scheduler]:
            process.terminate()
            process.wait()
