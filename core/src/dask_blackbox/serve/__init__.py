"""The viewer: runs of any store in a browser, alone or mounted in a host's web server."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:  # FastAPI comes with it, which `dask blackbox report` does without
    from dask_blackbox.serve.app import create_app

__all__ = ["create_app"]


def __getattr__(name: str) -> object:
    if name != "create_app":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from dask_blackbox.serve.app import create_app

    return create_app
