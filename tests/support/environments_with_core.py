"""Environments of tests that install the core beside other software."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from project_uv import UV

__all__ = ["python_with_core"]

_ROOT = Path(__file__).parents[2]


def python_with_core(folder: Path, *packages: str) -> Path:
    """Return the interpreter of a new environment with the core and other packages.

    Args:
        folder: In which the environment is made.
        packages: As pip takes them.
    """
    environment = folder / "environment"
    python = environment / "bin" / "python"
    for words in (
        ("venv", "--quiet", "--python", sys.executable, environment),
        ("pip", "install", "--quiet", "--python", python, *packages, _ROOT / "core"),
    ):
        # Outside the repository: its settings are for its own environments.
        subprocess.run([UV, *map(str, words)], check=True, cwd=folder)
    return python
