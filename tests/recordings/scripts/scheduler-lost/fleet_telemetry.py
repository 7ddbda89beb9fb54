import os
import signal
import subprocess
import sys
import tempfile
import threading
import time

import dask
from distributed import Client


def decode(frame):
    time.sleep(0.4)
    return frame, frame % 17


def logrotate(proc, after):
    def rotate():
        print("logrotate: postrotate hook", flush=True)
        os.kill(proc.pid, signal.SIGKILL)

    t = threading.Timer(after, rotate)
    t.daemon = True
    t.start()


def main():
    dask.config.set({"distributed.comm.timeouts.connect": "5s"})
    tmp = tempfile.mkdtemp(prefix="fleet")
    sf = tmp + "/s.json"
    run = [sys.executable, "-m", "dask"]
    sched = subprocess.Popen(
        run + ["scheduler", "--port", "0", "--scheduler-file", sf, "--no-dashboard"]
    )
    workers = [
        subprocess.Popen(
            run
            + [
                "worker",
                "--scheduler-file",
                sf,
                "--nthreads",
                "1",
                "--no-dashboard",
                "--memory-limit",
                "300MB",
                "--local-directory",
                tmp,
                "--no-nanny",
            ]
        )
        for _ in range(2)
    ]
    try:
        client = Client(scheduler_file=sf, timeout=20)
        client.wait_for_workers(2, timeout=20)
        futs = client.map(decode, range(120))
        logrotate(sched, 5)
        rows = client.submit(sorted, futs).result(timeout=30)
        print(len(rows), "frames")
    finally:
        for p in workers:
            p.terminate()


if __name__ == "__main__":
    main()
