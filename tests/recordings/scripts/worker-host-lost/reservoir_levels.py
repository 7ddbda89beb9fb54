import os
import signal
import subprocess
import sys
import tempfile
import threading
import time

from dask.distributed import Client


def inflow(day):
    time.sleep(0.5)
    return (day * 37) % 113


def balance(values):
    level = 500.0
    for v in values:
        level += v - 56
    return level


def start(folder):
    dask = [sys.executable, "-m", "dask"]
    sfile = os.path.join(folder, "sched.json")
    scheduler = subprocess.Popen(
        dask + ["scheduler", "--port", "0", "--no-dashboard", "--scheduler-file", sfile]
    )
    worker = subprocess.Popen(
        dask
        + [
            "worker",
            "--scheduler-file",
            sfile,
            "--nthreads",
            "2",
            "--no-dashboard",
            "--name",
            "hydro-0",
            "--local-directory",
            folder,
        ]
    )
    return scheduler, worker, sfile


def reclaim(worker):
    os.kill(worker.pid, signal.SIGKILL)


def main():
    with tempfile.TemporaryDirectory(prefix="hydro-") as folder:
        scheduler, worker, sfile = start(folder)
        try:
            with Client(scheduler_file=sfile, timeout=15) as client:
                client.wait_for_workers(1, timeout=15)
                days = client.map(inflow, range(60))
                threading.Timer(3.0, reclaim, (worker,)).start()
                print("level", client.submit(balance, days).result(timeout=10))
        finally:
            for p in (worker, scheduler):
                if p.poll() is None:
                    p.terminate()
                p.wait(10)


if __name__ == "__main__":
    main()
