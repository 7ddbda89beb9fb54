import os
import signal
import subprocess
import sys
import tempfile
import threading
import time

from dask.distributed import Client


def roster(week):
    time.sleep(1)
    return week


def drain(workers):
    for w in workers:
        w.send_signal(signal.SIGTERM)


def main():
    sfile = os.path.join(tempfile.mkdtemp(), "sched.json")
    dask = [sys.executable, "-m", "dask"]
    scheduler = subprocess.Popen(
        dask + ["scheduler", "--port", "0", "--scheduler-file", sfile, "--no-dashboard"]
    )
    workers = [
        subprocess.Popen(
            dask
            + [
                "worker",
                "--scheduler-file",
                sfile,
                "--no-nanny",
                "--nthreads",
                "1",
                "--no-dashboard",
                "--name",
                f"shift-{k}",
            ]
        )
        for k in range(2)
    ]
    try:
        client = Client(scheduler_file=sfile, timeout=20)
        client.wait_for_workers(2, timeout=20)
        weeks = client.map(roster, range(52))
        threading.Timer(3, drain, (workers,)).start()
        print("weeks", client.submit(len, weeks).result(timeout=10))
    finally:
        for p in workers + [scheduler]:
            if p.poll() is None:
                p.terminate()
            p.wait(15)


if __name__ == "__main__":
    main()
