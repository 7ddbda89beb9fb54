"""Images and settings of the cluster's processes, as they report them."""

from __future__ import annotations

from dask_blackbox.events import DriverAttached, InstalledPackages
from dask_blackbox.run import RunTables

__all__ = ["driver_images", "images_of", "settings_of_workers"]

_NONE = "none"


def images_of(run: RunTables) -> dict[str, str]:
    """Return variables that name the image of scheduler and workers, by role."""
    found: dict[str, set[str]] = {}
    for each in run.of(InstalledPackages):
        role = "workers" if each.role == "worker" else "scheduler"
        for name, value in each.image.items():
            found.setdefault(f"image of the {role} ({name})", set()).add(value)
    return {name: " | ".join(sorted(values)) for name, values in found.items()}


def driver_images(driver: DriverAttached) -> dict[str, str]:
    """Return variables that name the image of the driver."""
    return {f"image ({name})": value for name, value in driver.image.items()}


def settings_of_workers(run: RunTables) -> dict[str, str]:
    """Return the settings of workers that are not the scheduler's."""
    found: dict[str, set[str]] = {}
    for each in run.of(InstalledPackages):
        if each.role == "worker":
            for name, value in each.config.items():
                found.setdefault(name, set()).add(
                    _NONE if value is None else str(value)
                )
    return {name: " | ".join(sorted(values)) for name, values in found.items()}
