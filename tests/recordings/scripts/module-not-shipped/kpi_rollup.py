"""Roll up the hourly KPIs of the shops to the week.

The job lives in ``jobs/``, the company's formulas in the package ``shopkpi`` next to it. The workers are ordinary
``dask worker`` processes, as the platform team starts them on every node.
"""

import contextlib
import os
import subprocess
import sys
import tempfile
import textwrap
from pathlib import Path

import numpy as np
import pandas as pd
from dask.distributed import Client, Scheduler, SpecCluster, wait

HERE = Path.cwd()

FORMULAS = '''
"""Formulas that finance has signed off."""
import numpy as np


def conversion(frame):
    return frame.orders.sum() / max(frame.visits.sum(), 1)


def basket(frame):
    return frame.revenue.sum() / max(frame.orders.sum(), 1)


def rollup(frame):
    return {
        "shop": frame.shop.iloc[0],
        "conversion": float(np.round(conversion(frame), 4)),
        "basket": float(np.round(basket(frame), 2)),
    }
'''


def check_out(root):
    """What the deployment does: puts the packages of the job below its folder."""
    package = root / "jobs" / "shopkpi"
    package.mkdir(parents=True, exist_ok=True)
    (package / "__init__.py").write_text("from .formulas import rollup\n")
    (package / "formulas.py").write_text(textwrap.dedent(FORMULAS))
    sys.path.insert(0, str(root / "jobs"))


@contextlib.contextmanager
def nodes(address, count):
    processes = []
    with tempfile.TemporaryDirectory(prefix="node-") as scratch:
        for n in range(count):
            home = Path(scratch) / f"node{n}"
            home.mkdir()
            command = [
                sys.executable,
                "-m",
                "distributed.cli.dask_worker",
                address,
                "--name",
                f"node{n}",
            ]
            command += [
                "--nthreads",
                "1",
                "--memory-limit",
                "400MB",
                "--no-dashboard",
                "--local-directory",
                str(home),
            ]
            processes.append(
                subprocess.Popen(
                    command, cwd=home, stderr=open(HERE / f"node{n}.log", "w")
                )
            )
        try:
            yield processes
        finally:
            for process in processes:
                process.terminate()
            for process in processes:
                process.wait(10)


def hours_of(shop):
    rng = np.random.default_rng(shop)
    visits = rng.integers(20, 400, 168)
    orders = (visits * rng.uniform(0.01, 0.2, 168)).astype(int)
    return pd.DataFrame(
        {
            "shop": f"shop-{shop:03d}",
            "visits": visits,
            "orders": orders,
            "revenue": orders * 31.5,
        }
    )


def main():
    check_out(HERE)
    import shopkpi

    sample = shopkpi.rollup(hours_of(0))
    print("formulas work:", sample)

    scheduler = {
        "cls": Scheduler,
        "options": {"host": "127.0.0.1", "port": 0, "dashboard": False},
    }
    with (
        SpecCluster(scheduler=scheduler, workers={}) as cluster,
        nodes(cluster.scheduler_address, 2),
    ):
        with Client(cluster) as client:
            client.wait_for_workers(2, timeout=40)
            print(
                "nodes:",
                sorted(os.path.basename(d) for d in client.run(os.getcwd).values()),
            )
            hours = client.map(hours_of, range(24))
            weeks = client.map(shopkpi.rollup, hours)
            wait(weeks, timeout=15)
            table = pd.DataFrame(client.gather(weeks)).set_index("shop")
    table.to_csv("kpi_week.csv")
    print(table.describe())


if __name__ == "__main__":
    main()
