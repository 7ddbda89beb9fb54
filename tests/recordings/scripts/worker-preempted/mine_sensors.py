"""Gas sensors of the mine, evaluated on a rented worker."""

import os
import random
import subprocess
import sys
import tempfile
import time

from dask.distributed import Client

PROVIDER = """
import os, signal, sys, time
time.sleep(float(sys.argv[2]))
os.kill(int(sys.argv[1]), signal.SIGTERM)
"""


def shaft(number):
    rng = random.Random(number)
    end = time.time() + 12
    peak = 0.0
    while time.time() < end:
        peak = max(peak, rng.random())
        time.sleep(0.01)
    return number, peak


class Rented:
    """A scheduler of our own and one worker of the provider."""

    def __init__(self, folder):
        self.info = os.path.join(folder, "scheduler.json")
        self.processes = []

    def start(self, *arguments, **environment):
        command = [sys.executable, "-m", "dask", *arguments, "--no-dashboard"]
        process = subprocess.Popen(
            command + ["--scheduler-file", self.info],
            env={**os.environ, **environment},
        )
        self.processes.append(process)
        return process

    def stop(self):
        for process in reversed(self.processes):
            if process.poll() is None:
                process.terminate()
        for process in self.processes:
            process.wait(25)


def main():
    with tempfile.TemporaryDirectory() as folder:
        rented = Rented(folder)
        provider = None
        try:
            rented.start(
                "scheduler",
                "--port",
                "0",
                DASK_DISTRIBUTED__SCHEDULER__ALLOWED_FAILURES="0",
            )
            while not os.path.exists(rented.info):
                time.sleep(0.1)
            worker = rented.start("worker", "--nthreads", "2", "--name", "spot-1")
            with Client(scheduler_file=rented.info) as client:
                client.wait_for_workers(1, timeout=40)
                shafts = client.map(shaft, range(4))
                provider = subprocess.Popen(
                    [sys.executable, "-c", PROVIDER, str(worker.pid), "5"]
                )
                for number, peak in client.gather(shafts):
                    print("shaft", number, round(peak, 4))
        finally:
            rented.stop()
            if provider:
                provider.wait()


if __name__ == "__main__":
    main()
