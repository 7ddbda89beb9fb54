"""Containers and disks that are small: what pods and nodes give, made on this machine.

Memory cgroups of version 1 and file systems in memory; both want root and Linux.
"""

from __future__ import annotations

import subprocess
import tempfile
import time
import uuid
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from staging import NotHere

__all__ = ["Container", "container", "small_disk"]

_GROUPS = Path("/sys/fs/cgroup/memory")


@dataclass(frozen=True)
class Container:
    """A memory cgroup.

    Attributes:
        folder: Its own, in the file system of cgroups.
    """

    folder: Path

    @property
    def shell(self) -> str:
        """What a shell does to go into it, before it starts anything."""
        return f"echo $$ > {self.folder / 'cgroup.procs'}"

    def take(self, pid: int) -> None:
        """Move a process into it."""
        (self.folder / "cgroup.procs").write_text(str(pid))


@contextmanager
def container(limit: str) -> Iterator[Container]:
    """Make a memory cgroup.

    Args:
        limit: As the kernel reads it, such as `700M`.

    Raises:
        NotHere: This machine has no memory cgroups of version 1, or we may not make one.
    """
    for left in _GROUPS.glob("third-*"):
        with suppress(OSError):  # somebody is still inside
            left.rmdir()
    folder = _GROUPS / f"third-{uuid.uuid4().hex[:8]}"
    try:
        folder.mkdir()
        (folder / "memory.limit_in_bytes").write_text(limit)
    except OSError as error:
        raise NotHere(f"no memory cgroups: {error}") from error
    try:
        yield Container(folder)
    finally:
        with suppress(OSError):
            folder.rmdir()


@contextmanager
def small_disk(size: str) -> Iterator[Path]:
    """Mount a file system that is soon full.

    Args:
        size: As `mount` reads it, such as `20m`.

    Raises:
        NotHere: We may not mount.
    """
    folder = Path(tempfile.mkdtemp(prefix="disk-"))
    mount = ["mount", "-t", "tmpfs", "-o", f"size={size}", "tmpfs", str(folder)]
    if subprocess.run(mount, check=False).returncode:
        raise NotHere("only root mounts file systems")
    try:
        yield folder
    finally:
        deadline = time.monotonic() + 20
        # A worker that is being ended may still stand in it.
        while subprocess.run(["umount", str(folder)], check=False).returncode:
            if time.monotonic() > deadline:
                break
            time.sleep(0.5)
        with suppress(OSError):
            folder.rmdir()
