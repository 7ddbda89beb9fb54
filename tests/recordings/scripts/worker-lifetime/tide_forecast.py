import os
import subprocess
import sys
import tempfile
import time

from dask.distributed import Client


def forecast(station):
    time.sleep(1.5)
    return station, 2.1 + station / 10


def main():
    folder = tempfile.mkdtemp(prefix="tide-")
    sfile = os.path.join(folder, "sched.json")
    scheduler = subprocess.Popen(
        [
            sys.executable,
            "-m",
            "dask",
            "scheduler",
            "--port",
            "0",
            "--no-dashboard",
            "--scheduler-file",
            sfile,
        ]
    )
    workers = [
        subprocess.Popen(
            [
                sys.executable,
                "-m",
                "dask",
                "worker",
                "--scheduler-file",
                sfile,
                "--nthreads",
                "1",
                "--no-dashboard",
                "--name",
                f"tide-{k}",
                "--lifetime",
                "7s",
            ]
        )
        for k in range(2)
    ]
    try:
        client = Client(scheduler_file=sfile, timeout=20)
        client.wait_for_workers(2, timeout=20)
        stations = client.map(forecast, range(40))
        table = client.submit(dict, stations)
        print(len(table.result(timeout=11)), "stations")
    finally:
        for p in workers + [scheduler]:
            if p.poll() is None:
                p.terminate()
            p.wait(15)


if __name__ == "__main__":
    main()
