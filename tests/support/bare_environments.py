"""A Python environment in which something is installed, and nothing of ours.

Built of links into the running environment, so that it needs no network.
"""

from __future__ import annotations

import re
import subprocess
import sysconfig
import venv
from importlib import metadata
from pathlib import Path


def python_with(distribution: str, folder: Path) -> Path:
    """Return the interpreter of a new environment that holds a distribution and its needs."""
    venv.create(folder, with_pip=False, symlinks=True)
    python = folder / "bin" / "python"
    reported = subprocess.run(
        [python, "-c", "import sysconfig; print(sysconfig.get_path('purelib'))"],
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    here, there = Path(sysconfig.get_path("purelib")), Path(reported.stdout.strip())
    for name in _needs(distribution):
        for file in metadata.files(name) or ():
            top = file.parts[0]
            if top != ".." and not (there / top).exists():
                (there / top).symlink_to(here / top)
    return python


def can_import(python: Path, module: str) -> bool:
    """Return whether an interpreter can import a module."""
    done = subprocess.run(
        [python, "-c", f"import {module}"], capture_output=True, check=False
    )
    return done.returncode == 0


def _needs(distribution: str) -> set[str]:
    found: set[str] = set()
    waiting = [distribution]
    while waiting:
        name = waiting.pop()
        if name in found:
            continue
        try:
            wanted = metadata.requires(name) or []
        except metadata.PackageNotFoundError:  # of another platform or Python
            continue
        found.add(name)
        waiting += [
            re.split(r"[^\w.-]", each, maxsplit=1)[0]
            for each in wanted
            if "extra ==" not in each
        ]
    return found
