"""Modules of the demo's folder, which is no package."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from typing import Any

_FOLDER = Path(__file__).parents[2] / "demo"


def demo_module(name: str) -> Any:
    """Return a module of the demo, executed anew."""
    spec = importlib.util.spec_from_file_location(name, _FOLDER / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module
