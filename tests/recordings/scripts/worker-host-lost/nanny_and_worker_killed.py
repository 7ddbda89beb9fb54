"""Simulate markets on workers that run on cheap machines."""

import os
import signal
import subprocess
import tempfile
import time

from dask.distributed import Client

FILE = tempfile.mkdtemp() + "/scheduler.json"


def simulate(seed):
    time.sleep(2)
    return seed % 7


def spawn(*words):
    # a session of its own for each: one "machine"
    return subprocess.Popen(["dask", *words], start_new_session=True)


def stop(process):
    try:
        os.killpg(process.pid, signal.SIGTERM)
    except ProcessLookupError:
        pass
    process.wait()


if __name__ == "__main__":
    scheduler = spawn(
        "scheduler", "--port=0", "--no-dashboard", f"--scheduler-file={FILE}"
    )
    machines = [
        spawn("worker", f"--scheduler-file={FILE}", "--nthreads=1", "--no-dashboard")
        for _ in range(2)
    ]
    try:
        client = Client(scheduler_file=FILE)
        client.wait_for_workers(2)
        # the provider takes back one machine after the other
        for number, machine in enumerate(machines):
            subprocess.Popen(
                ["sh", "-c", f"sleep {3 + 2 * number}; kill -9 -{machine.pid}"]
            )
        futures = client.map(simulate, range(30))
        print(sum(f.result(timeout=18) for f in futures))
    finally:
        for process in [*machines, scheduler]:
            stop(process)
