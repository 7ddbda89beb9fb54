"""The versions of FastAPI with which the server of a Prefect does not work."""

from __future__ import annotations

import logging
from functools import cache
from importlib.metadata import PackageNotFoundError, requires, version

from dask_blackbox.guard import guard
from packaging.requirements import Requirement
from packaging.specifiers import SpecifierSet
from prefect.settings import get_current_settings

__all__ = ["server_problem", "warn_of_fastapi"]

logger = logging.getLogger("dask_blackbox")

_UNKNOWN = "0.999"
"""A FastAPI that no Prefect has been tried with: one that allows it does not know its limit."""
_BEFORE_ROUTES_CHANGED = "0.136"
"""From 0.137 on, FastAPI reads the routes of its routers at each request; a Prefect that allows
this version deletes them."""


def server_problem(prefect: str, allowed: SpecifierSet, fastapi: str) -> str | None:
    """Return what is wrong where a server of this Prefect runs with this FastAPI.

    Args:
        prefect: Its version.
        allowed: The versions of FastAPI that its requirements allow.
        fastapi: The version that is installed.
    """
    if not allowed.contains(_UNKNOWN):
        return None
    too_new = "0.137" if allowed.contains(_BEFORE_ROUTES_CHANGED) else "0.151"
    if SpecifierSet(f"<{too_new}").contains(fastapi):
        return None
    return (
        f"the server of Prefect {prefect} does not work with FastAPI {fastapi}, although "
        f"its requirements allow it; pip install 'fastapi<{too_new}'"
    )


@cache
def warn_of_fastapi() -> None:
    """Name the problem once, where Prefect would start a server by itself."""
    with guard("the version of FastAPI"):
        if get_current_settings().api.url:
            return  # the server is elsewhere
        try:
            problem = server_problem(version("prefect"), _allowed(), version("fastapi"))
        except PackageNotFoundError:
            return
        if problem is not None:
            logger.warning("%s", problem)


def _allowed() -> SpecifierSet:
    """Return the versions of FastAPI that the installed Prefect allows."""
    required = (Requirement(each) for each in requires("prefect") or ())
    found = (each.specifier for each in required if each.name == "fastapi")
    return next(found, SpecifierSet())
