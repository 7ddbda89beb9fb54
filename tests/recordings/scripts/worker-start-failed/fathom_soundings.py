"""Grid depth soundings; starts scheduler and workers as on the survey ship."""

import logging
import os
import pathlib
import subprocess
import sys
import tempfile
import time

import numpy as np
from dask.distributed import Client

logging.basicConfig(level=logging.INFO, format="%(asctime)s %(levelname)s %(message)s")
log = logging.getLogger("fathom")

DASK = [sys.executable, "-m", "dask"]

ROLES = {
    "bow": {
        "distributed": [
            "  worker:",
            "    memory:",
            "      target: 0.7",
            "      spill: 0.8",
        ],
    },
    "stern": {
        "distributed": [
            "  worker:",
            "    memory:",
            "      target: 0.6",
            "\t  spill: 0.75",
        ],
    },
}


def write_config(folder, role):
    """A folder with the settings of one role."""
    place = folder / f"config-{role}"
    place.mkdir()
    lines = []
    for section, body in ROLES[role].items():
        lines.append(f"{section}:")
        lines.extend(body)
    (place / f"{role}.yaml").write_text("\n".join(lines) + "\n")
    return place


def start_scheduler(folder):
    file = folder / "scheduler.json"
    process = subprocess.Popen(
        DASK
        + [
            "scheduler",
            "--host",
            "127.0.0.1",
            "--port",
            "0",
            "--no-dashboard",
            "--scheduler-file",
            str(file),
        ]
    )
    for _ in range(150):
        if file.exists() or process.poll() is not None:
            break
        time.sleep(0.2)
    return process, file


def start_worker(folder, file, role):
    env = dict(os.environ, DASK_CONFIG=str(write_config(folder, role)))
    return subprocess.Popen(
        DASK
        + [
            "worker",
            "--scheduler-file",
            str(file),
            "--name",
            role,
            "--nthreads",
            "1",
            "--memory-limit",
            "300MiB",
            "--no-dashboard",
            "--local-directory",
            str(folder / role),
        ],
        env=env,
    )


def soundings(line, n=2000):
    rng = np.random.default_rng(line)
    along = np.linspace(0, 40, n)
    return np.stack([along, 30 + 5 * np.sin(along / 4 + line) + rng.normal(0, 0.3, n)])


def grid_line(points, cells=80):
    index = np.clip((points[0] / 40 * cells).astype(int), 0, cells - 1)
    depth = np.bincount(index, weights=points[1], minlength=cells)
    return depth / np.maximum(np.bincount(index, minlength=cells), 1)


def main():
    processes = []
    with tempfile.TemporaryDirectory(prefix="fathom-") as name:
        folder = pathlib.Path(name)
        try:
            scheduler, file = start_scheduler(folder)
            processes.append(scheduler)
            for role in ROLES:
                processes.append(start_worker(folder, file, role))
            with Client(scheduler_file=str(file)) as client:
                log.info("waiting for %d workers", len(ROLES))
                client.wait_for_workers(len(ROLES), timeout=25)
                lines = [
                    client.submit(soundings, n, workers=[list(ROLES)[n % 2]])
                    for n in range(10)
                ]
                grid = np.stack(client.gather(client.map(grid_line, lines)))
                log.info("grid %s, deepest %.1f m", grid.shape, grid.max())
        finally:
            for process in reversed(processes):
                process.terminate()
            for process in processes:
                process.wait(20)


if __name__ == "__main__":
    main()
