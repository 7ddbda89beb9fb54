import os
import subprocess
import sys
import tempfile
import time

from dask.distributed import Client


def snap(bus):
    time.sleep(0.3)
    return bus, bus * 2


def main():
    sfile = os.path.join(tempfile.mkdtemp(prefix="bus-"), "sched.json")
    dask = [sys.executable, "-m", "dask"]
    scheduler = subprocess.Popen(
        dask + ["scheduler", "--port", "0", "--no-dashboard", "--scheduler-file", sfile]
    )
    workers = [
        subprocess.Popen(
            dask
            + [
                "worker",
                "--scheduler-file",
                sfile,
                "--nthreads",
                "1",
                "--no-dashboard",
                "--lifetime",
                life,
                "--lifetime-restart",
                "--lifetime-stagger",
                "1s",
            ]
        )
        for life in ("5s", "9s")
    ]
    try:
        with Client(scheduler_file=sfile, timeout=20) as client:
            client.wait_for_workers(2, timeout=20)
            positions = dict(client.gather(client.map(snap, range(40))))
            print("buses", len(positions))
    finally:
        for p in workers + [scheduler]:
            p.terminate()
            p.wait(15)


if __name__ == "__main__":
    main()
