"""The uv with which tests install packages: the project's own, never one on the PATH."""

from __future__ import annotations

import os
from pathlib import Path

__all__ = ["UV"]

UV = os.environ.get("UV") or str(Path(__file__).parents[2] / "tools" / "uv")
"""`tools/suites.py` names it; a test that runs by itself finds it in the project."""
