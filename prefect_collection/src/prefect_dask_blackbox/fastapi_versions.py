"""The versions of FastAPI with which the server of Prefect 3.8 does not start."""

from __future__ import annotations

import logging
import os
from functools import cache
from importlib.metadata import PackageNotFoundError, version

__all__ = ["server_problem", "warn_of_fastapi"]

logger = logging.getLogger("dask_blackbox")

_TOO_NEW = (0, 142)


def server_problem(prefect: str, fastapi: str) -> str | None:
    """Return what is wrong where a server of this Prefect runs with this FastAPI."""
    number = tuple(int(part) for part in fastapi.split(".")[:2])
    if not prefect.startswith("3.8.") or number < _TOO_NEW:
        return None
    return (
        f"the server of Prefect {prefect} does not work with FastAPI {fastapi}, "
        "although its requirements allow it"
        "; pip install 'prefect-dask-blackbox[server]'"
    )


@cache
def warn_of_fastapi() -> None:
    """Name the problem once, where Prefect would start a server by itself."""
    if os.environ.get("PREFECT_API_URL"):
        return  # the server is elsewhere
    try:
        problem = server_problem(version("prefect"), version("fastapi"))
    except (PackageNotFoundError, ValueError):
        return
    if problem is not None:
        logger.warning("%s", problem)
