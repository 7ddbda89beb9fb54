"""Mosaics of last night's orchard flights.

The cluster is started on demand: scheduler first, then the worker, whose preload
fills the tile cache so that the first mosaic is as fast as the last one.
"""

from __future__ import annotations

import argparse
import logging
import os
import signal
import subprocess
import sys
import tempfile
import textwrap
from pathlib import Path

import numpy as np
from dask.distributed import Client

log = logging.getLogger("mosaics")

SCHEDULER_YAML = """
distributed:
  scheduler:
    no-workers-timeout: 8s
    allowed-failures: 5
"""

TILE_CACHE = """
    import logging
    import time

    log = logging.getLogger("distributed.preload.tilecache")
    ZONES = 14
    SECONDS_PER_ZONE = 2.0


    def dask_setup(worker):
        for zone in range(ZONES):
            time.sleep(SECONDS_PER_ZONE)  # zone's tiles come from the archive's tape robot
            if zone % 5 == 0:
                log.warning("tile cache: zone %d of %d", zone, ZONES)
        log.warning("tile cache is complete")
"""


def prepare(root: Path) -> dict[str, str]:
    """Configuration folder and preload of the cluster; returns its environment."""
    config = root / "config"
    config.mkdir()
    (config / "cluster.yaml").write_text(SCHEDULER_YAML)
    (root / "tilecache.py").write_text(textwrap.dedent(TILE_CACHE))
    return dict(os.environ, DASK_CONFIG=str(config))


def start(root: Path, env: dict[str, str]) -> list[subprocess.Popen]:
    address_file = str(root / "scheduler.json")
    scheduler = [
        "scheduler",
        "--host",
        "127.0.0.1",
        "--port",
        "0",
        "--dashboard-address",
        ":0",
        "--scheduler-file",
        address_file,
    ]
    worker = [
        "worker",
        "--scheduler-file",
        address_file,
        "--name",
        "mosaic-0",
        "--nthreads",
        "2",
        "--no-dashboard",
        "--memory-limit",
        "450MB",
        "--local-directory",
        str(root / "scratch"),
        "--preload",
        str(root / "tilecache.py"),
    ]
    return [
        subprocess.Popen(
            [sys.executable, "-m", "dask", *words],
            env=env,
            cwd=root,
            start_new_session=True,
        )
        for words in (scheduler, worker)
    ]


def stop(processes: list[subprocess.Popen]) -> None:
    for process in reversed(processes):
        process.terminate()
    for process in processes:
        try:
            process.wait(12)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()


def load_strip(flight: int, strip: int) -> np.ndarray:
    rng = np.random.default_rng(flight * 100 + strip)
    return rng.integers(0, 255, size=(120, 400), dtype=np.uint8)


def blend(strips: list[np.ndarray]) -> np.ndarray:
    return np.concatenate(strips, axis=0)


def vigour(mosaic: np.ndarray) -> float:
    """Share of pixels above the green threshold."""
    return float((mosaic > 140).mean())


def submit_flights(client: Client, flights: int, strips: int) -> list:
    indices = []
    for flight in range(flights):
        parts = [
            client.submit(load_strip, flight, s, key=f"load_strip-{flight}-{s}")
            for s in range(strips)
        ]
        mosaic = client.submit(blend, parts, key=f"blend-{flight}")
        indices.append(client.submit(vigour, mosaic, key=f"vigour-{flight}"))
    return indices


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--flights", type=int, default=6)
    parser.add_argument("--strips", type=int, default=8)
    args = parser.parse_args()
    logging.basicConfig(
        level=logging.INFO, format="%(asctime)s %(name)s %(levelname)s %(message)s"
    )

    with tempfile.TemporaryDirectory(prefix="mosaics-") as tmp:
        root = Path(tmp)
        processes = start(root, prepare(root))
        try:
            with Client(
                scheduler_file=str(root / "scheduler.json"), timeout="60s"
            ) as client:
                log.info("scheduler is there: %s", client.scheduler.address)
                indices = submit_flights(client, args.flights, args.strips)
                log.info("%d flights submitted", len(indices))
                for flight, index in enumerate(client.gather(indices)):
                    log.info("flight %d: vigour %.3f", flight, index)
        finally:
            stop(processes)


if __name__ == "__main__":
    main()
