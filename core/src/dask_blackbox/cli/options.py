"""What several verbs are told: which store, which run."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar

import click

if TYPE_CHECKING:  # heavy: the verbs import them when they run
    from dask_blackbox.opened import Run
    from dask_blackbox.store import Store

__all__ = ["opened_run", "opened_store", "run_argument", "store_option"]

_F = TypeVar("_F", bound=Callable[..., Any])


def store_option(command: _F) -> _F:
    """Give a verb the option `--store`."""
    return click.option(
        "--store",
        "store_url",
        metavar="URL",
        help="Where the recordings lie: s3://bucket/prefix or a folder. "
        "Default: the setting blackbox.store.url.",
    )(command)


def run_argument(command: _F) -> _F:
    """Give a verb the argument RUN."""
    return click.argument("name", metavar="RUN")(command)


def opened_store(url: str | None) -> Store:
    """Return the store that `--store` or the settings name."""
    from dask_blackbox.store import open_store

    return open_store(url)


def opened_run(store: Store, name: str) -> Run:
    """Return the recording that RUN names."""
    from dask_blackbox.opened import find_run

    return find_run(store, name)
