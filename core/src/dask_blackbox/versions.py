"""Versions of ours and of what we work with."""

from __future__ import annotations

import platform
from importlib.metadata import PackageNotFoundError, version

__all__ = ["versions"]

_NAMES = (
    "dask-blackbox",
    "airflow-provider-dask-blackbox",
    "prefect-dask-blackbox",
    "dask",
    "distributed",
    "apache-airflow",
    "prefect",
    "boto3",
)


def versions() -> dict[str, str]:
    """Return the versions of the packages that are installed, ours first, and of Python."""
    found: dict[str, str] = {}
    for name in _NAMES:
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            continue
    return found | {"python": platform.python_version()}
