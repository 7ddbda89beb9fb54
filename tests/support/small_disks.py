"""File systems of 1 MiB, and how to fill them."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

__all__ = ["filled", "small_disks"]


@contextmanager
def small_disks(folder: Path, size: str = "1m") -> Iterator[Callable[[], Path]]:
    """Give a maker of small file systems below a folder.

    Args:
        folder: Where they are mounted.
        size: Of each.
    """
    mounted: list[Path] = []

    def make() -> Path:
        disk = folder / f"disk-{len(mounted)}"
        disk.mkdir()
        command = ["mount", "-t", "tmpfs", "-o", f"size={size}", "tmpfs", str(disk)]
        if subprocess.run(command, check=False, capture_output=True).returncode:
            pytest.skip("mounting a small file system needs root")
        mounted.append(disk)
        return disk

    yield make
    for each in mounted:
        subprocess.run(["umount", "-l", str(each)], check=True)


def filled(disk: Path) -> Path:
    """Fill a disk to the last byte."""
    path = disk / "other people's data"
    with path.open("wb", buffering=0) as file:
        try:
            while True:
                file.write(os.urandom(4096))
        except OSError:
            return path
