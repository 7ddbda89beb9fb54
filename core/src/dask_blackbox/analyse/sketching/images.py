"""Images and settings of the cluster's processes, as they told them of themselves."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from dask_blackbox.run import RunTables

__all__ = ["driver_images", "images_of", "settings_of_workers"]

_NONE = "none"


def images_of(run: RunTables) -> dict[str, str]:
    """Return variables that tell the image of scheduler and workers, by role."""
    found: dict[str, set[str]] = {}
    for told in run.details("packages"):
        role = "workers" if told.get("role") == "worker" else "scheduler"
        for name, value in _mapping(told.get("image")):
            found.setdefault(f"image of the {role} ({name})", set()).add(value)
    return {name: " | ".join(sorted(values)) for name, values in found.items()}


def driver_images(driver: Mapping[str, Any]) -> dict[str, str]:
    """Return variables that tell the image of the driver."""
    return {f"image ({name})": value for name, value in _mapping(driver.get("image"))}


def settings_of_workers(run: RunTables) -> dict[str, str]:
    """Return the settings of workers that are not the scheduler's."""
    found: dict[str, set[str]] = {}
    for told in run.details("packages"):
        if told.get("role") == "worker":
            for name, value in _mapping(told.get("config")):
                found.setdefault(name, set()).add(value)
    return {name: " | ".join(sorted(values)) for name, values in found.items()}


def _mapping(value: Any) -> Iterator[tuple[str, str]]:
    if isinstance(value, Mapping):
        for name, each in value.items():
            yield str(name), _NONE if each is None else str(each)
