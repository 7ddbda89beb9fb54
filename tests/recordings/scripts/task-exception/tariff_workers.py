import os
import subprocess
import sys
import tempfile

from dask.distributed import Client

PRELOAD = """
import json
import os


def dask_setup(worker):
    with open(os.environ["TARIFF_FILE"]) as fh:
        worker.tariffs = json.load(fh)
"""

TARIFFS = '{"household": 0.31, "trade": 0.27, "night": 0.19,}\n'


def price(meter, kwh):
    from dask.distributed import get_worker

    return meter, kwh * get_worker().tariffs["household"]


def start(folder):
    dask = [sys.executable, "-m", "dask"]
    sfile = os.path.join(folder, "scheduler.json")
    os.environ["TARIFF_FILE"] = os.path.join(folder, "tariffs.json")
    procs = [
        subprocess.Popen(
            dask
            + ["scheduler", "--port", "0", "--no-dashboard", "--scheduler-file", sfile]
        )
    ]
    for k in range(2):
        procs.append(
            subprocess.Popen(
                dask
                + [
                    "worker",
                    "--scheduler-file",
                    sfile,
                    "--nthreads",
                    "1",
                    "--no-dashboard",
                    "--name",
                    f"tariff-{k}",
                    "--local-directory",
                    folder,
                    "--preload",
                    os.path.join(folder, "tariff_setup.py"),
                ]
            )
        )
    return procs, sfile


def main():
    with tempfile.TemporaryDirectory(prefix="tariff-") as folder:
        with open(os.path.join(folder, "tariff_setup.py"), "w") as fh:
            fh.write(PRELOAD)
        with open(os.path.join(folder, "tariffs.json"), "w") as fh:
            fh.write(TARIFFS)
        procs, sfile = start(folder)
        try:
            with Client(scheduler_file=sfile, timeout=15) as client:
                client.wait_for_workers(2, timeout=10)
                bills = client.map(price, range(500), [3 + k % 9 for k in range(500)])
                print("billed", sum(v for _, v in client.gather(bills)))
        finally:
            for p in reversed(procs):
                if p.poll() is None:
                    p.terminate()
                p.wait(10)


if __name__ == "__main__":
    main()
