"""Burn trials of the candle works on a cluster that lives only for this run."""

import os
import random
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from dask.distributed import Client, as_completed


def start(folder, *command):
    log = open(folder / "cluster.log", "ab")
    return subprocess.Popen(
        [sys.executable, "-m", "dask", *command],
        cwd=folder,
        env=dict(os.environ),
        stdout=log,
        stderr=log,
    )


def burn(trial):
    random.seed(trial)
    time.sleep(0.3)
    minutes = [random.gauss(400, 30) for _ in range(60)]
    return {
        "trial": trial,
        "minutes": minutes,
        "braid": "cotton" if trial % 3 else "paper",
    }


def burn_rate(measured, wax_grams):
    left = wax_grams - 4.1 * len(measured["minutes"])
    if measured["trial"] == 9:
        left = wax_grams - 700
    if left < 0:
        raise ValueError(
            f"trial {measured['trial']}: burnt more wax than was poured ({left:.1f} g left)"
        )
    return measured["trial"], (wax_grams - left) / (sum(measured["minutes"]) / 60)


def protocol(measured):
    time.sleep(0.5)
    return f"{measured['trial']}: {measured['braid']}, {len(measured['minutes'])} wicks"


def main():
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        address = str(folder / "scheduler.json")
        scheduler = start(
            folder,
            "scheduler",
            "--port",
            "0",
            "--dashboard-address",
            ":0",
            "--scheduler-file",
            address,
        )
        workers = [
            start(
                folder,
                "worker",
                "--scheduler-file",
                address,
                "--nthreads",
                "1",
                "--memory-limit",
                "400MB",
                "--local-directory",
                name,
            )
            for _ in range(2)
        ]
        client = Client(scheduler_file=address, timeout=60)
        client.wait_for_workers(2, timeout=120)
        rates = {}
        try:
            measured = client.map(burn, range(20))
            protocols = client.map(protocol, measured)
            for future in as_completed(
                client.map(burn_rate, measured, wax_grams=650.0)
            ):
                trial, rate = future.result()
                rates[trial] = rate
        finally:
            for process in (*workers, scheduler):
                process.terminate()
            for process in (*workers, scheduler):
                process.wait(timeout=60)
            (folder / "protocol.txt").write_text("\n".join(client.gather(protocols)))
            client.close()
        print("mean rate:", sum(rates.values()) / len(rates))


if __name__ == "__main__":
    main()
