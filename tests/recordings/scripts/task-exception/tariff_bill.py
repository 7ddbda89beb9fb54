import os
import shutil
import subprocess
import sys
import tempfile
import time

import dask.dataframe as dd
import numpy as np
import pandas as pd
from dask.distributed import Client


def stage_month(root, month):
    n = 2000
    frame = pd.DataFrame(
        {
            "account": np.arange(n),
            "month": f"2026-{month:02d}",
            "units": np.random.default_rng(month).integers(5, 400, n),
            "tariff_code": np.where(np.arange(n) % 3 == 0, "ECO", "STD"),
        }
    )
    if month == 4:
        frame = frame.drop(columns=["tariff_code"])
    frame.to_parquet(os.path.join(root, f"usage-{month:02d}.parquet"))


def start_cluster(scheduler_file):
    base = [sys.executable, "-m", "dask"]
    procs = [
        subprocess.Popen(
            base
            + [
                "scheduler",
                "--port",
                "0",
                "--no-dashboard",
                "--scheduler-file",
                scheduler_file,
            ]
        )
    ]
    while not os.path.exists(scheduler_file):
        time.sleep(0.2)
    for name in ("bill-a", "bill-b"):
        procs.append(
            subprocess.Popen(
                base
                + [
                    "worker",
                    "--scheduler-file",
                    scheduler_file,
                    "--nthreads",
                    "1",
                    "--name",
                    name,
                    "--no-dashboard",
                ]
            )
        )
    return procs


def main():
    root = tempfile.mkdtemp(prefix="billing-")
    for month in range(1, 7):
        stage_month(root, month)
    procs = start_cluster(os.path.join(root, "sched.json"))
    try:
        with Client(scheduler_file=os.path.join(root, "sched.json")) as client:
            client.wait_for_workers(2, timeout=20)
            usage = dd.read_parquet(os.path.join(root, "usage-*.parquet"))
            rate = usage.tariff_code.map(
                {"ECO": 0.21, "STD": 0.29}, meta=("rate", "f8")
            )
            usage["amount"] = usage.units * rate
            print(usage.groupby("tariff_code").amount.sum().compute())
    finally:
        for p in reversed(procs):
            p.terminate()
        for p in procs:
            p.wait(10)
        shutil.rmtree(root, ignore_errors=True)


if __name__ == "__main__":
    main()
