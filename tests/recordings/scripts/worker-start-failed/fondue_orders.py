"""Fondue orders: cheese blends for tomorrow's deliveries.

The kitchens' cluster is described in kitchens.toml (kept by the operations
team); the planning needs all of them, as each blends the orders of its own
district.
"""

import pathlib
import subprocess
import sys
import tomllib

import pandas as pd
from distributed import Client

KITCHENS = """
[scheduler]
host = "127.0.0.1"

[[kitchen]]
name = "gruyeres"
nthreads = "1"
memory-limit = "300MB"

[[kitchen]]
name = "fribourg"
nthreads = "1"
memory-limit = "300MB"

[[kitchen]]
name = "neuchatel"
nthreads = "1"
memory-limit = "300Mo"
"""


class Launcher:
    def __init__(self, description):
        self.description = description
        self.running = {}
        self.scheduler_file = pathlib.Path("kitchens-scheduler.json").absolute()

    def run(self, label, module, /, *args, **options):
        command = [sys.executable, "-m", module, *args]
        for option, value in options.items():
            command += [f"--{option}", value]
        self.running[label] = subprocess.Popen(command)

    def __enter__(self):
        self.scheduler_file.unlink(missing_ok=True)
        self.run(
            "scheduler",
            "distributed.cli.dask_scheduler",
            "--no-dashboard",
            **self.description["scheduler"],
            **{"port": "0", "scheduler-file": str(self.scheduler_file)},
        )
        for kitchen in self.description["kitchen"]:
            self.run(
                kitchen["name"],
                "distributed.cli.dask_worker",
                "--no-dashboard",
                **kitchen,
                **{"scheduler-file": str(self.scheduler_file)},
            )
        return self

    def __exit__(self, *exc):
        for name, process in reversed(self.running.items()):
            process.terminate()
        for name, process in self.running.items():
            try:
                process.wait(8)
            except subprocess.TimeoutExpired:
                process.kill()
        return False


def district_orders(district):
    rows = [
        (
            district,
            day,
            20 + (7 * day + 3 * district) % 35,
            ("moitie", "vacherin", "classic")[day % 3],
        )
        for day in range(60)
    ]
    return pd.DataFrame(rows, columns=["district", "day", "persons", "blend"])


def blend(orders, grams_per_person=200):
    kilos = orders.groupby("blend")["persons"].sum() * grams_per_person / 1000
    return kilos.rename(int(orders["district"].iloc[0]))


def plan(client, kitchens):
    frames = []
    for district, kitchen in enumerate(kitchens):
        orders = client.submit(district_orders, district, workers=[kitchen["name"]])
        frames.append(client.submit(blend, orders, workers=[kitchen["name"]]))
    return pd.concat(client.gather(frames), axis=1)


def main():
    description = tomllib.loads(KITCHENS)
    with Launcher(description) as launcher:
        with Client(scheduler_file=str(launcher.scheduler_file), timeout=20) as client:
            expected = len(description["kitchen"])
            print(f"waiting for {expected} kitchens", flush=True)
            client.wait_for_workers(expected, timeout=15)
            table = plan(client, description["kitchen"])
            print(table.round(1).to_string())


if __name__ == "__main__":
    main()
