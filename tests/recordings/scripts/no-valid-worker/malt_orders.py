"""Brewery orders: which malt batches to roast tonight.

Orders are grouped first, on any worker.  Roast simulations use the licensed
solver, of which each host has one seat, so workers are started with a
resource and the simulations ask for it (see roast.yaml).
"""

import contextlib
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import yaml
from dask.distributed import Client, as_completed

SETTINGS = """\
roast:
  seats: {solver_seat: 1}
  batches: 6
  patience: 14
workers:
  - {name: host-a, options: ["--resources", "solver-seat=1"]}
  - {name: host-b, options: ["--resources", "solver-seat=1"]}
"""


class Hosts:
    """Scheduler and workers as the site's start scripts start them."""

    def __init__(self, folder, workers):
        self.folder = Path(folder)
        self.workers = workers
        self.scheduler_file = self.folder / "scheduler.json"
        self.processes = []

    def start(self, *command):
        self.processes.append(
            subprocess.Popen([sys.executable, "-m", "dask", *command], cwd=self.folder)
        )

    def __enter__(self):
        self.start(
            "scheduler",
            "--host",
            "127.0.0.1",
            "--port",
            "0",
            "--no-dashboard",
            "--scheduler-file",
            str(self.scheduler_file),
        )
        for w in self.workers:
            self.start(
                "worker",
                "--scheduler-file",
                str(self.scheduler_file),
                "--name",
                w["name"],
                "--nthreads",
                "1",
                "--no-dashboard",
                *w["options"],
            )
        return self

    def __exit__(self, *exc):
        for p in reversed(self.processes):
            p.terminate()
        for p in reversed(self.processes):
            with contextlib.suppress(subprocess.TimeoutExpired):
                p.wait(8)
            if p.poll() is None:
                p.kill()


def group_orders(day):
    orders = [("pale", 300), ("munich", 120), ("black", 45), ("pale", 80)]
    total = {}
    for kind, kilos in orders:
        total[kind] = total.get(kind, 0) + kilos + day
    return total


def roast_batch(batch, orders):
    time.sleep(0.3)
    kilos = sum(orders.values())
    return {"batch": batch, "kilos": kilos / 6, "colour": 8 + batch * 2.5}


def main():
    settings = yaml.safe_load(SETTINGS)
    roast = settings["roast"]
    with (
        tempfile.TemporaryDirectory() as folder,
        Hosts(folder, settings["workers"]) as hosts,
    ):
        with Client(scheduler_file=str(hosts.scheduler_file), timeout=20) as client:
            client.wait_for_workers(2, timeout=20)
            grouped = client.map(group_orders, range(7), key="group_orders")
            orders = client.submit(
                lambda days: {k: sum(d[k] for d in days) for k in days[0]},
                grouped,
                key="week_orders",
            )
            print("orders of the week:", orders.result(timeout=20), flush=True)

            batches = [
                client.submit(
                    roast_batch,
                    b,
                    orders,
                    key=f"roast_batch-{b}",
                    resources=roast["seats"],
                )
                for b in range(roast["batches"])
            ]
            plan = []
            try:
                for future in as_completed(batches, timeout=roast["patience"]):
                    plan.append(future.result())
            finally:
                print(f"{len(plan)} of {len(batches)} batches planned", flush=True)
                client.cancel(batches)
            for row in plan:
                print(row)


if __name__ == "__main__":
    main()
