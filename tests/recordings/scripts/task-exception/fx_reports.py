import csv
import os
import subprocess
import sys
import tempfile

from dask.distributed import Client

RATES = os.path.join("reference", "fx_close.csv")


def load_rates():
    with open(RATES, newline="") as fh:
        return {row["ccy"]: float(row["rate"]) for row in csv.DictReader(fh)}


def revalue(book, ccy, amount):
    return book, round(amount * load_rates()[ccy], 2)


def prepare(folder):
    os.makedirs(os.path.join(folder, "job", "reference"))
    os.makedirs(os.path.join(folder, "scratch"))
    os.chdir(os.path.join(folder, "job"))
    with open(RATES, "w") as fh:
        fh.write("ccy,rate\nUSD,0.91\nGBP,1.17\nSEK,0.087\nJPY,0.0058\n")


def start(folder):
    dask = [sys.executable, "-m", "dask"]
    sfile = os.path.join(folder, "sched.json")
    scratch = os.path.join(folder, "scratch")
    procs = [
        subprocess.Popen(
            dask
            + ["scheduler", "--port", "0", "--no-dashboard", "--scheduler-file", sfile],
            cwd=scratch,
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
                    f"fx-{k}",
                    "--no-nanny",
                ],
                cwd=scratch,
            )
        )
    return procs, sfile


def main():
    home = os.getcwd()
    with tempfile.TemporaryDirectory(prefix="fx-") as folder:
        prepare(folder)
        print("rates in the job:", load_rates())
        procs, sfile = start(folder)
        try:
            with Client(scheduler_file=sfile, timeout=15) as client:
                client.wait_for_workers(2, timeout=15)
                books = [
                    (f"book-{k:02d}", ("USD", "GBP", "SEK", "JPY")[k % 4], 1000.0 + k)
                    for k in range(24)
                ]
                futures = client.map(revalue, *zip(*books))
                print("total", sum(v for _, v in client.gather(futures)))
        finally:
            os.chdir(home)
            for p in reversed(procs):
                p.terminate()
                p.wait(10)


if __name__ == "__main__":
    main()
