"""Grade time-lapse images of embryos: cheap preparation on any worker, the network where there is a card.

Workers are started by the same commands that the clinic's compute nodes use.
"""

import logging
import shlex
import subprocess
import sys
import time

import click
import dask
import numpy as np
from dask import delayed
from dask.distributed import Client, LocalCluster

logging.basicConfig(
    level=logging.INFO, format="%(asctime)s %(levelname)-7s %(message)s"
)
log = logging.getLogger("embryo")

NODES = """
worker {address} --name prep-1 --nthreads 1 --memory-limit 300MB --no-dashboard --no-nanny
worker {address} --name card-1 --nthreads 1 --memory-limit 400MB --no-dashboard --no-nanny --resources GPU=1
"""


def start_nodes(address):
    nodes = []
    for line in NODES.strip().splitlines():
        arguments = shlex.split(line.format(address=address))
        nodes.append(
            subprocess.Popen(
                [sys.executable, "-m", "dask", *arguments],
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
            )
        )
    return nodes


@delayed
def load_stack(dish, frames):
    rng = np.random.default_rng(dish)
    return rng.random((frames, 64, 64), dtype="float32")


@delayed
def normalise(stack):
    low, high = np.percentile(stack, [1, 99])
    return np.clip((stack - low) / (high - low), 0, 1)


@delayed
def grade_embryo(stack, weights):
    response = np.tensordot(stack, weights, axes=([1, 2], [0, 1]))
    return float(response.mean())


@delayed
def summary(grades):
    ranked = sorted(enumerate(grades), key=lambda item: -item[1])
    return ranked[:3]


@click.command()
@click.option("--dishes", default=6, show_default=True)
@click.option("--frames", default=20, show_default=True)
@click.option("--patience", default=15.0, help="seconds until the grades must be there")
def main(dishes, frames, patience):
    cluster = LocalCluster(n_workers=0, dashboard_address=None)
    nodes = start_nodes(cluster.scheduler_address)
    client = Client(cluster)
    try:
        client.wait_for_workers(2, timeout=20)
        for worker in client.scheduler_info(n_workers=-1)["workers"].values():
            log.info(
                "node %s offers %s",
                worker["name"],
                worker.get("resources") or "nothing special",
            )

        weights = np.random.default_rng(1).normal(size=(64, 64)).astype("float32")
        stacks = [normalise(load_stack(dish, frames)) for dish in range(dishes)]
        with dask.annotate(resources={"gpu": 1}):
            grades = [grade_embryo(stack, weights) for stack in stacks]
        started = time.monotonic()
        best = client.compute(summary(grades), optimize_graph=False)
        log.info("best dishes: %s", best.result(timeout=patience))
        log.info("took %.1f s", time.monotonic() - started)
    finally:
        client.close()
        for node in nodes:
            node.terminate()
        for node in nodes:
            node.wait(10)
        cluster.close()


if __name__ == "__main__":
    main()
