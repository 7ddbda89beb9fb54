"""Proves a touch of change ringing on a small cluster of its own; the login node has a guard against big processes."""

import os
import subprocess
import sys
import tempfile
import time

import numpy as np
from dask.distributed import Client

GUARD = """
import os, signal, sys, time, psutil
p = psutil.Process(int(sys.argv[1]))
base = p.memory_info().rss
while p.is_running() and p.status() != "zombie":
    if p.memory_info().rss > base + (70 << 20):
        p.send_signal(signal.SIGKILL)
        break
    time.sleep(0.1)
"""


def prove(rows, n):
    time.sleep(0.5)
    part = rows[n::6]
    return len({r.tobytes() for r in part[:2000]}) <= 2000


def main():
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        sfile = os.path.join(folder, "s.json")
        sched = subprocess.Popen(
            [
                sys.executable,
                "-m",
                "distributed.cli.dask_scheduler",
                "--port",
                "0",
                "--dashboard-address",
                ":0",
                "--scheduler-file",
                sfile,
            ]
        )
        while not os.path.exists(sfile):
            time.sleep(0.1)
        worker = subprocess.Popen(
            [
                sys.executable,
                "-m",
                "distributed.cli.dask_worker",
                "--scheduler-file",
                sfile,
                "--nthreads",
                "2",
                "--no-nanny",
                "--dashboard-address",
                ":0",
                "--local-directory",
                folder,
            ]
        )
        guard = None
        try:
            client = Client(scheduler_file=sfile)
            print(
                "warm-up",
                client.submit(prove, np.eye(7), 0).result(timeout=60),
                flush=True,
            )
            guard = subprocess.Popen([sys.executable, "-c", GUARD, str(sched.pid)])
            time.sleep(1.0)
            touches = [
                np.random.default_rng(k).integers(0, 7, (300_000, 7)) for k in range(12)
            ]  # 16 MiB each
            parts = [client.submit(prove, t, n) for n, t in enumerate(touches)]
            print("true:", all(client.gather(parts)))
        except Exception:
            print("touch could not be proved", file=sys.stderr)
            sys.exit(4)
        finally:
            for p in (worker, sched, guard):
                if p is not None:
                    p.kill() if p is guard else p.terminate()
                    try:
                        p.wait(4)
                    except subprocess.TimeoutExpired:
                        p.kill()
                        p.wait()


if __name__ == "__main__":
    main()
