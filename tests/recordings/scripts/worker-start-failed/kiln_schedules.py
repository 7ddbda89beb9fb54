"""Firing schedules of a tile works: which batch goes into which kiln, for the coming week.

The workers of the works are prepared by a bootstrap module (calibration of the thermocouples) that every one of them
loads before it takes work; the launcher below starts them the way the plant's service does.
"""

import os
import pathlib
import subprocess
import sys
import time

import click
from distributed import Client, LocalCluster

BOOTSTRAP = '''
"""Loaded by each worker: calibration of the thermocouples of this plant."""
import logging
import os
import pathlib
import tomllib

HOME = pathlib.Path(os.environ.get("PLANT_HOME", "plant"))

with open(HOME / "calibration.toml", "rb") as source:
    CALIBRATION = tomllib.load(source)

def dask_setup(worker):
    worker.calibration = CALIBRATION
    logging.getLogger("distributed.worker").info("calibrated for %s", ", ".join(CALIBRATION))
'''
CALIBRATION = """
[tunnel]
offset = 4.5
[shuttle]
offset = -1.25
"""


def prepare():
    pathlib.Path("plant").mkdir(exist_ok=True)
    pathlib.Path("plant/calibration.toml").write_text(CALIBRATION)
    pathlib.Path("plant_bootstrap.py").write_text(BOOTSTRAP)


def plan_firing(batch):
    from distributed import get_worker

    offsets = get_worker().calibration
    kiln = "tunnel" if batch["pieces"] > 400 else "shuttle"
    time.sleep(0.05)
    return batch["name"], kiln, batch["cone"] * 10 + offsets[kiln]["offset"]


class PlantService:
    """Starts and stops the workers; each has a run folder of its own, as the service units have."""

    def __init__(self, address, count):
        self.address = address
        self.count = count
        self.workers = []

    def __enter__(self):
        bootstrap = os.path.abspath("plant_bootstrap.py")
        for number in range(self.count):
            run = pathlib.Path("run") / f"kiln-worker-{number}"
            run.mkdir(parents=True, exist_ok=True)
            self.workers.append(
                subprocess.Popen(
                    [
                        sys.executable,
                        "-m",
                        "dask",
                        "worker",
                        self.address,
                        "--name",
                        f"kiln-worker-{number}",
                        "--no-nanny",
                        "--nthreads",
                        "1",
                        "--memory-limit",
                        "300MB",
                        "--no-dashboard",
                        "--preload",
                        bootstrap,
                    ],
                    cwd=run,
                )
            )
        return self

    def __exit__(self, *exc):
        for worker in self.workers:
            if worker.poll() is None:
                worker.terminate()
        for worker in self.workers:
            worker.wait(10)


@click.command()
@click.option("--week", default="2026-W49")
@click.option("--workers", default=2, show_default=True)
@click.option(
    "--patience", default=15.0, help="Seconds to wait for the plant's workers."
)
def cli(week, workers, patience):
    prepare()
    batches = [
        {"name": f"{week}-{n:03d}", "pieces": 150 + (n * 71) % 500, "cone": 98 + n % 7}
        for n in range(60)
    ]
    with LocalCluster(n_workers=0, dashboard_address=":0", host="127.0.0.1") as cluster:
        with (
            PlantService(cluster.scheduler_address, workers),
            Client(cluster) as client,
        ):
            click.echo(f"waiting for {workers} workers")
            client.wait_for_workers(workers, timeout=patience)
            plan = client.gather(client.map(plan_firing, batches))
            for name, kiln, peak in plan:
                click.echo(f"{name} {kiln} {peak:.1f}")


if __name__ == "__main__":
    cli()
