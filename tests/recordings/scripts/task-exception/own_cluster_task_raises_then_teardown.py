"""Monthly invoices; the cluster belongs to this script."""

import contextlib
import subprocess
import tempfile
import time

from dask.distributed import Client


@contextlib.contextmanager
def own_cluster(workers=2):
    with tempfile.TemporaryDirectory() as folder:
        file = f"{folder}/scheduler.json"
        scheduler = subprocess.Popen(
            ["dask", "scheduler", "--port", "0", "--no-dashboard"]
            + ["--scheduler-file", file]
        )
        nannies = [
            subprocess.Popen(
                ["dask", "worker", "--scheduler-file", file, "--nthreads", "1"]
            )
            for _ in range(workers)
        ]
        try:
            yield file
        finally:
            for process in [*nannies, scheduler]:
                process.terminate()
            for process in [*nannies, scheduler]:
                process.wait()


def invoice(customer):
    time.sleep(0.05)
    rate = {"basic": 9.0, "pro": 29.0}[customer["plan"]]
    return customer["id"], rate * customer["seats"]


if __name__ == "__main__":
    plans = ["basic", "pro", "basic", "pro", "team"]
    customers = [{"id": n, "plan": plans[n % 5], "seats": n + 1} for n in range(30)]
    with own_cluster() as file:
        client = Client(scheduler_file=file)
        client.wait_for_workers(2, timeout=60)
        totals = dict(client.gather(client.map(invoice, customers)))
        print(sum(totals.values()))
