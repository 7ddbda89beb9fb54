"""The versions of FastAPI with which the server of a Prefect does not work."""

from __future__ import annotations

import logging
import os
from functools import cache
from importlib.metadata import PackageNotFoundError, version

__all__ = ["server_problem", "warn_of_fastapi"]

logger = logging.getLogger("dask_blackbox")

_TOO_NEW = {
    # It deletes the routes of its routers, which FastAPI reads at each request since then.
    (3, 8): (0, 137),
    (3, 9): (0, 142),
}
"""The first FastAPI that does not work, by the first Prefect that this is not true of.

The requirements of these Prefects allow it; Prefect 3.9 excludes what it does not know.
"""


def server_problem(prefect: str, fastapi: str) -> str | None:
    """Return what is wrong where a server of this Prefect runs with this FastAPI."""
    for newer, too_new in _TOO_NEW.items():
        if _number(prefect) < newer:
            if _number(fastapi) < too_new:
                return None
            return (
                f"the server of Prefect {prefect} does not work with FastAPI {fastapi}, "
                "although its requirements allow it; pip install "
                f"'fastapi<{too_new[0]}.{too_new[1]}'"
            )
    return None


def _number(release: str) -> tuple[int, ...]:
    return tuple(int(part) for part in release.split(".")[:2])


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
