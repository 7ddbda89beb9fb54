"""Porosity of the quartzite cores from the tomograph.

The reconstruction uses as much memory as a worker may have, short of its limit. The
vendor's segmentation ends its process on some machines; the cluster starts a new one and
does the core again. The last step needs one worker only.
"""

from __future__ import annotations

import argparse
import logging
import os
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import psutil
from dask.distributed import Client, LocalCluster, get_worker

log = logging.getLogger("cores")

MEGA = 2**20


def reconstruct(core: int, share: float) -> np.ndarray:
    """Fill the volume up to the share of the worker's memory, give back a thumbnail."""
    limit = get_worker().memory_manager.memory_limit
    room = int(limit * share) - psutil.Process().memory_info().rss
    rng = np.random.default_rng(core)
    volume = np.full(max(room, 8 * MEGA), core % 200, dtype=np.uint8)
    volume[::4096] = 255
    time.sleep(0.6)
    thumb = rng.random((64, 64)) + volume[:4096].reshape(64, 64) / 255
    del volume
    return thumb


def segment(core: int, thumb: np.ndarray, crashes: str) -> np.ndarray:
    """The vendor's segmentation."""
    mark = Path(crashes) / f"core-{core}"
    if core in (5, 13) and not mark.exists():
        mark.touch()
        logging.getLogger("cores.vendor").critical(
            "segmentation core dumped (core %d)", core
        )
        os._exit(134)
    time.sleep(0.2)
    return thumb > thumb.mean()


def porosity(core: int, mask: np.ndarray) -> float:
    if mask.all() or not mask.any():
        raise ValueError(f"core {core}: nothing segmented")
    return float(mask.mean())


def trend(values: list[float]) -> float:
    time.sleep(0.5)
    return float(np.polyfit(np.arange(len(values)), values, 1)[0])


def measure(
    client: Client, cores: list[int], share: float, crashes: str
) -> list[float]:
    results = []
    for core in cores:
        thumb = client.submit(reconstruct, core, share)
        mask = client.submit(segment, core, thumb, crashes)
        results.append(client.submit(porosity, core, mask))
    return client.gather(results)


def spare_worker(client: Client) -> None:
    """Give one of the workers back before the last step."""
    client.wait_for_workers(2, timeout=90)
    address = sorted(client.scheduler_info(n_workers=-1)["workers"])[0]
    log.warning("giving back worker %s", address)
    client.retire_workers([address], close_workers=True)


def main(argv: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--cores", type=int, default=18)
    parser.add_argument(
        "--share", type=float, default=0.72, help="of the worker's memory"
    )
    args = parser.parse_args(argv)
    logging.basicConfig(
        level=logging.INFO, format="%(asctime)s %(levelname)s %(name)s %(message)s"
    )

    with (
        tempfile.TemporaryDirectory(prefix="cores-") as scratch,
        LocalCluster(
            n_workers=2,
            threads_per_worker=1,
            memory_limit="240MiB",
            dashboard_address=":0",
            local_directory=scratch,
        ) as cluster,
        Client(cluster) as client,
    ):
        values = measure(client, list(range(args.cores)), args.share, scratch)
        log.info(
            "porosity of %d cores: %.3f to %.3f", len(values), min(values), max(values)
        )
        spare_worker(client)
        log.info(
            "trend along the drill hole: %+.5f",
            client.submit(trend, values).result(timeout=90),
        )
    log.info("report complete")
    return 0


if __name__ == "__main__":
    sys.exit(main())
