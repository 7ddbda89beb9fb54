"""What this process consists of: Python, system, and every installed package."""

from __future__ import annotations

import platform
import sys
from functools import lru_cache
from importlib import metadata
from typing import Any

__all__ = ["environment"]


@lru_cache(maxsize=1)
def environment() -> dict[str, Any]:
    """Return Python, system and packages by name.  Reads the disk: not on an event loop."""
    packages: dict[str, str] = {}
    for each in metadata.distributions():
        name = each.metadata["Name"]
        if name:
            # The first one on the path is the one that is imported.
            packages.setdefault(name.lower().replace("_", "-"), each.version)
    return {
        "python": platform.python_version(),
        "implementation": sys.implementation.name,
        "platform": platform.platform(),
        "packages": dict(sorted(packages.items())),
    }
