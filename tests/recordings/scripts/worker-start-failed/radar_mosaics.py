"""Rain radar mosaics for the flood desk, in two stages.

Stage one cleans the sweeps of all stations on a small general cluster.  Stage
two composes the mosaics on workers that load the projection tables first
(`--preload`), started with the same command as on the compute floor.
"""

import json
import logging
import os
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
from dask.distributed import Client, LocalCluster

logging.basicConfig(level=logging.INFO, format="%(message)s")
log = logging.getLogger("radar")

PRELOAD = '''
"""Loads the projection tables into the worker before it takes work."""
import json
import os
import sys
from pathlib import Path

TABLES = {}


def load_tables(folder):
    index = json.loads((folder / "index.json").read_text())
    for name, file in index["tables"].items():
        TABLES[name] = [float(x) for x in (folder / file).read_text().split()]


def dask_setup(worker):
    try:
        load_tables(Path(os.environ["RADAR_TABLES"]))
    except ValueError as e:
        sys.exit(f"projection tables unusable: {e}")
    worker.tables = TABLES
'''


def write_tables(folder):
    tables = folder / "tables"
    tables.mkdir()
    index = {"epoch": 2026, "tables": {"lambert": "lambert.txt", "polar": "polar.txt"}}
    (tables / "index.json").write_text(json.dumps(index))
    (tables / "lambert.txt").write_text(" ".join(str(i / 7) for i in range(900)))
    polar = [f"{i / 3:.4f}" for i in range(900)]
    polar[412] = "137,3333"
    (tables / "polar.txt").write_text(" ".join(polar))
    (folder / "projections.py").write_text(PRELOAD)


def clean_sweep(station):
    rng = np.random.default_rng(station)
    sweep = rng.gamma(2.0, 3.0, (360, 120))
    sweep[sweep < 1] = 0
    return sweep


def compose(sweeps, projection):
    from distributed import get_worker

    table = np.array(get_worker().tables[projection][:120])
    return float(np.mean([s * table for s in sweeps]))


def stage_one():
    with (
        LocalCluster(
            n_workers=2,
            threads_per_worker=1,
            memory_limit="400MB",
            dashboard_address=None,
        ) as cluster,
        Client(cluster) as client,
    ):
        return client.gather(client.map(clean_sweep, range(6)))


def start_worker(address, folder, name):
    command = [
        sys.executable,
        "-m",
        "dask",
        "worker",
        address,
        "--no-nanny",
        "--nthreads",
        "1",
        "--name",
        name,
        "--memory-limit",
        "400MB",
        "--no-dashboard",
        "--preload",
        str(folder / "projections.py"),
        "--death-timeout",
        "20",
    ]
    out = open(f"{name}.log", "w")
    return subprocess.Popen(
        command,
        stdout=out,
        stderr=subprocess.STDOUT,
        env=dict(os.environ, RADAR_TABLES=str(folder / "tables")),
    )


def stage_two(sweeps, folder):
    workers = []
    with (
        LocalCluster(n_workers=0, dashboard_address=None) as cluster,
        Client(cluster) as client,
    ):
        try:
            for i in range(2):
                workers.append(
                    start_worker(cluster.scheduler_address, folder, f"mosaic-{i}")
                )
            log.info("waiting for the mosaic workers")
            client.wait_for_workers(2, timeout=15)
            data = client.scatter(sweeps)
            values = client.gather(
                [client.submit(compose, data, p) for p in ("lambert", "polar")]
            )
            log.info("mosaics: %s", values)
        finally:
            for w in workers:
                w.terminate()
            for w in workers:
                w.wait()


def main():
    with tempfile.TemporaryDirectory() as tmp:
        folder = Path(tmp)
        write_tables(folder)
        sweeps = stage_one()
        log.info("%d sweeps cleaned", len(sweeps))
        stage_two(sweeps, folder)


if __name__ == "__main__":
    main()
