"""Settings in a Dask configuration, as driver and scheduler recorded it."""

from __future__ import annotations

from collections.abc import Mapping


def dask_setting(config: Mapping[str, object], name: str) -> object:
    """Return a setting; None if it is not set.

    Args:
        name: As in Dask's documentation, with dots and hyphens.
    """
    found: object = config
    for part in name.split("."):
        if not isinstance(found, Mapping):
            return None
        # Where a variable sets it, Dask keeps the underscores.
        found = found.get(part, found.get(part.replace("-", "_")))
    return found
