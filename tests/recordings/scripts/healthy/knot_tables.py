"""Computes the table of knots on rented processes and gives them back the short way."""

import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from dask.distributed import Client, fire_and_forget


def start(folder, *command):
    log = open(folder / "cluster.log", "ab")
    return subprocess.Popen(
        [sys.executable, "-m", "dask", *command],
        cwd=folder,
        env=dict(os.environ),
        stdout=log,
        stderr=log,
        start_new_session=True,
    )


def crossings(knot):
    time.sleep(0.15)
    return knot, 3 + (knot * 7919) % 9


def warm_next_night(knot):
    time.sleep(20)
    return knot


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
                "--no-nanny",
                "--local-directory",
                name,
            )
            for _ in range(2)
        ]
        try:
            client = Client(scheduler_file=address, timeout=60)
            client.wait_for_workers(2, timeout=120)
            table = dict(client.gather(client.map(crossings, range(40))))
            (folder / "knots.csv").write_text(
                "\n".join(f"{knot},{count}" for knot, count in table.items())
            )
            for knot in range(4):
                fire_and_forget(
                    client.submit(warm_next_night, knot, key=f"warm_next_night-{knot}")
                )
            time.sleep(1)
        finally:
            for process in (*workers, scheduler):
                process.kill()
            for process in (*workers, scheduler):
                process.wait()
        print("knots:", len(table), "mean crossings:", sum(table.values()) / len(table))
        client.close(timeout=3)


if __name__ == "__main__":
    main()
