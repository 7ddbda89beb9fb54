"""Atlas tiles: cuts the scanned sheets of an old atlas into map tiles for the library's web site.

Sheets are cut in Python; large ones are shrunk first by a command line program, which is faster.
"""

import os
import shlex
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

import dask
import numpy as np
from distributed import Client, LocalCluster

SHRINK = "sheetshrink --quiet --factor {factor} {source} {target}"
BIG = 900


@dataclass(frozen=True)
class Sheet:
    number: int
    side: int

    @property
    def name(self) -> str:
        return f"sheet-{self.number:02d}"


SHEETS = [
    Sheet(1, 512),
    Sheet(2, 640),
    Sheet(3, 1024),
    Sheet(4, 512),
    Sheet(5, 768),
    Sheet(6, 1280),
]


@dask.delayed
def scan(sheet: Sheet, folder: str) -> str:
    rng = np.random.default_rng(sheet.number)
    path = Path(folder) / f"{sheet.name}.npy"
    np.save(path, rng.integers(0, 255, (sheet.side, sheet.side), dtype=np.uint8))
    time.sleep(0.3)
    return str(path)


def run_tool(command: str) -> None:
    subprocess.run(shlex.split(command), check=True, timeout=30)


def strip_metadata(path: str) -> None:
    """Scanners write a side file of settings, which is removed where there is one."""
    try:
        os.remove(path + ".settings")
    except FileNotFoundError:
        pass


@dask.delayed
def shrink(path: str, sheet: Sheet) -> str:
    strip_metadata(path)
    if sheet.side <= BIG:
        return path
    target = path.replace(".npy", "-small.npy")
    run_tool(SHRINK.format(factor=2, source=path, target=target))
    return target


@dask.delayed
def cut(path: str, edge: int = 128) -> int:
    image = np.load(path)
    time.sleep(0.2)
    return sum(
        1
        for top in range(0, image.shape[0], edge)
        for left in range(0, image.shape[1], edge)
        if image[top : top + edge, left : left + edge].std() > 1
    )


@dask.delayed
def index_page(counts: list[int]) -> str:
    lines = [f"{sheet.name}: {count} tiles" for sheet, count in zip(SHEETS, counts)]
    return "\n".join(lines)


def build(folder: str):
    counts = []
    for sheet in SHEETS:
        small = shrink(scan(sheet, folder), sheet)
        counts.append(cut(small))
    return index_page(counts)


if __name__ == "__main__":
    with (
        tempfile.TemporaryDirectory(prefix="atlas-") as folder,
        LocalCluster(
            n_workers=2,
            threads_per_worker=1,
            memory_limit="400MB",
            dashboard_address=None,
        ) as cluster,
        Client(cluster) as client,
    ):
        future = client.compute(build(folder), retries=1)
        page = future.result()
        sys.stdout.write(page + "\n")
