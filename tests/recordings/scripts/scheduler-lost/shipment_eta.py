"""Estimate arrival times on a leased scheduler."""

import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

import dask
from dask.distributed import Client


def eta(shipment):
    time.sleep(0.5)
    return shipment, 24 + shipment % 48


def start(args, tmp):
    return subprocess.Popen([sys.executable, "-m", "dask", *args], cwd=tmp)


def main():
    dask.config.set({"distributed.comm.timeouts.connect": "4s"})
    with tempfile.TemporaryDirectory() as tmp:
        info = Path(tmp) / "lease.json"
        sched = start(
            [
                "scheduler",
                "--host",
                "127.0.0.1",
                "--port",
                "0",
                "--no-dashboard",
                "--dashboard-address",
                ":0",
                "--scheduler-file",
                str(info),
            ],
            tmp,
        )
        while not info.exists():
            time.sleep(0.2)
        worker = start(
            [
                "worker",
                "--scheduler-file",
                str(info),
                "--nworkers",
                "2",
                "--nthreads",
                "1",
                "--no-dashboard",
                "--death-timeout",
                "30",
            ],
            tmp,
        )
        lease = threading.Timer(4.0, sched.kill)
        try:
            with Client(scheduler_file=str(info)) as client:
                client.wait_for_workers(2, timeout=20)
                lease.start()
                futures = client.map(eta, range(80))
                print(dict(client.gather(futures)))
        finally:
            lease.cancel()
            for p in (worker, sched):
                p.terminate()
                p.wait(15)


if __name__ == "__main__":
    main()
