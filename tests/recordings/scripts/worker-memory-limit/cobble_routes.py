"""Travel times over the old town's streets for the parcel bikes.

Every worker keeps the street graph in memory (preload `streetgraph.py`), so
that the tasks only carry the start and the end of a trip.
"""

import argparse
import logging
import os
import random
import socket
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from distributed import Client, wait
from distributed.worker import get_worker

log = logging.getLogger("cobble")

STREETGRAPH = '''\
import logging
import os
import time

import numpy as np

log = logging.getLogger("distributed.preload.streetgraph")


def load_graph(districts):
    """Travel times between all nodes of each district, in seconds."""
    tables = []
    for number in range(districts):
        tables.append(np.full((1000, 1000), 60.0 + number))
        time.sleep(0.05)
    return tables


def dask_setup(worker):
    districts = int(os.environ["COBBLE_DISTRICTS"])
    worker.street_graph = load_graph(districts)
    size = sum(t.nbytes for t in worker.street_graph) / 1e6
    log.warning("street graph of %d districts loaded, %.0f MB", districts, size)
'''


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


def dask_cli(cwd, env, *args):
    return subprocess.Popen(
        [sys.executable, "-m", "dask", *args], cwd=cwd, env=env, start_new_session=True
    )


def stop(processes):
    for proc in reversed(processes):
        proc.terminate()
    for proc in processes:
        try:
            proc.wait(12)
        except subprocess.TimeoutExpired:
            proc.kill()
            proc.wait()


def trips(count, districts, seed=20261127):
    rng = random.Random(seed)
    return [
        (rng.randrange(districts), rng.randrange(1000), rng.randrange(1000))
        for _ in range(count)
    ]


def travel_time(trip):
    district, a, b = trip
    graph = get_worker().street_graph
    time.sleep(0.4)
    return float(graph[district][a, b])


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--districts", type=int, default=24)
    parser.add_argument("--trips", type=int, default=40)
    parser.add_argument("--memory-limit", default="230MB")
    parser.add_argument("--patience", type=float, default=25)
    args = parser.parse_args()
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(name)s %(message)s")

    processes = []
    env = dict(
        os.environ, COBBLE_DISTRICTS=str(args.districts), PYTHONDONTWRITEBYTECODE="1"
    )
    with tempfile.TemporaryDirectory(prefix="cobble-") as root:
        Path(root, "streetgraph.py").write_text(STREETGRAPH)
        address = f"tcp://127.0.0.1:{free_port()}"
        try:
            processes.append(
                dask_cli(
                    root,
                    env,
                    "scheduler",
                    "--host",
                    "127.0.0.1",
                    "--port",
                    address.rsplit(":", 1)[1],
                    "--dashboard-address",
                    "127.0.0.1:0",
                )
            )
            processes.append(
                dask_cli(
                    root,
                    env,
                    "worker",
                    address,
                    "--nworkers",
                    "1",
                    "--nthreads",
                    "1",
                    "--name",
                    "bike",
                    "--memory-limit",
                    args.memory_limit,
                    "--preload",
                    "streetgraph.py",
                    "--local-directory",
                    root,
                    "--dashboard-address",
                    "127.0.0.1:0",
                )
            )
            with Client(address, timeout=60) as client:
                client.wait_for_workers(1, timeout=60)
                futures = client.map(travel_time, trips(args.trips, args.districts))
                wait(futures, timeout=args.patience)
                times = client.gather(futures)
                log.info("%d trips, mean %.0f s", len(times), sum(times) / len(times))
        finally:
            stop(processes)


if __name__ == "__main__":
    main()
