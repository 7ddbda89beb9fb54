import os
import signal
import subprocess
import sys
import tempfile
import threading
import time

from dask.distributed import Client


def post(batch):
    time.sleep(0.5)
    return batch * 1000


def stop(proc):
    proc.terminate()
    try:
        proc.wait(5)
    except subprocess.TimeoutExpired:
        proc.kill()
        proc.wait()


def main():
    folder = tempfile.mkdtemp(prefix="ledger-")
    sfile = os.path.join(folder, "scheduler.json")
    env = dict(os.environ, DASK_DISTRIBUTED__COMM__TIMEOUTS__CONNECT="4s")
    scheduler = subprocess.Popen(
        [
            sys.executable,
            "-m",
            "dask",
            "scheduler",
            "--scheduler-file",
            sfile,
            "--port",
            "0",
            "--no-dashboard",
        ],
        env=env,
    )
    worker = subprocess.Popen(
        [
            sys.executable,
            "-m",
            "dask",
            "worker",
            "--scheduler-file",
            sfile,
            "--no-nanny",
            "--nthreads",
            "2",
            "--no-dashboard",
        ],
        env=env,
    )
    try:
        client = Client(scheduler_file=sfile, timeout=15)
        client.wait_for_workers(1, timeout=20)
        maintenance = threading.Timer(3, os.kill, (scheduler.pid, signal.SIGTERM))
        maintenance.daemon = True
        maintenance.start()
        futures = client.map(post, range(60))
        print("posted", sum(client.gather(futures)))
    finally:
        for p in (worker, scheduler):
            stop(p)


if __name__ == "__main__":
    main()
