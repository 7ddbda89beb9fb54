import os
import signal
import subprocess
import sys
import tempfile
import threading
import time

import numpy as np
import psutil
from dask.distributed import Client

LIMIT = 480 * 2**20


def scenario(k):
    paths = np.full((250, 1000 * (1 + 40 * (k == 1))), 0.01 * k)
    time.sleep(0.3)
    wide = np.concatenate([paths] * 6, axis=1)
    time.sleep(0.8)
    return float(wide.min())


def end(proc):
    proc.terminate()
    try:
        proc.wait(4)
    except subprocess.TimeoutExpired:
        proc.kill()
        proc.wait()


def node_guard(procs, stop):
    while not stop.is_set():
        for p in procs:
            try:
                if p.memory_info().rss > LIMIT:
                    p.send_signal(signal.SIGKILL)
            except psutil.NoSuchProcess:
                pass
        time.sleep(0.02)


def main():
    sfile = os.path.join(tempfile.mkdtemp(prefix="loans-"), "sched.json")
    cmd = [sys.executable, "-m", "dask"]
    scheduler = subprocess.Popen(
        cmd + ["scheduler", "--port", "0", "--no-dashboard", "--scheduler-file", sfile]
    )
    workers = [
        subprocess.Popen(
            cmd
            + [
                "worker",
                "--scheduler-file",
                sfile,
                "--no-nanny",
                "--nthreads",
                "1",
                "--no-dashboard",
                "--name",
                f"risk{k}",
                "--memory-limit",
                "0",
            ]
        )
        for k in range(2)
    ]
    stop = threading.Event()
    try:
        client = Client(scheduler_file=sfile, timeout=20)
        client.wait_for_workers(2, timeout=20)
        guard = threading.Thread(
            target=node_guard,
            args=([psutil.Process(w.pid) for w in workers], stop),
            daemon=True,
        )
        guard.start()
        futures = client.map(scenario, range(8))
        print("worst", client.submit(min, futures).result(timeout=12))
    finally:
        stop.set()
        for p in workers + [scheduler]:
            end(p)


if __name__ == "__main__":
    main()
