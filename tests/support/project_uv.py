"""The uv with which tests install packages: the project's own, never one on the PATH."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

__all__ = ["UV", "python_with_core"]

_ROOT = Path(__file__).parents[2]
UV = os.environ.get("UV") or str(_ROOT / "tools" / "uv")
"""`tools/suites.py` names it; a test that runs by itself finds it in the project."""


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
