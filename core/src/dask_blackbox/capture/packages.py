"""What this process consists of: Python, system, image, settings, and every installed package."""

from __future__ import annotations

import platform
import sys
from functools import lru_cache
from importlib import metadata
from typing import Any

from .images import image_variables

__all__ = ["environment", "settings_and_image"]

_MOST = 800  # settings
_LONGEST = 160


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


def settings_and_image() -> dict[str, dict[str, str]]:
    """Return Dask's settings in this process by their whole names, and its image."""
    from dask import config

    settings: dict[str, str] = {}
    _flatten(config.config, "", settings)
    return {"settings": settings, "image": image_variables()}


def _flatten(value: Any, name: str, into: dict[str, str]) -> None:
    if isinstance(value, dict) and value:
        for key, each in list(value.items()):
            _flatten(each, f"{name}.{key}" if name else str(key), into)
    elif len(into) < _MOST:
        into[name] = str(value)[:_LONGEST]
