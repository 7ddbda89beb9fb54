"""Dask runs of Prefect flows: recorded, explained, and shown on the flow run's page.

from prefect_dask_blackbox import observed_flow

@observed_flow(store="s3://bucket/dask", task_runner=DaskTaskRunner(...))
def etl() -> None: ...
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from prefect_dask_blackbox.blocks import BlackboxStore
    from prefect_dask_blackbox.cards import card_of_flow_run
    from prefect_dask_blackbox.errors import LostTasksError, NeverRanError
    from prefect_dask_blackbox.flows import observed_flow
    from prefect_dask_blackbox.retries import dask_blackbox_says_retry
    from prefect_dask_blackbox.task_runners import BlackboxTaskRunner

__all__ = [
    "BlackboxStore",
    "BlackboxTaskRunner",
    "LostTasksError",
    "NeverRanError",
    "card_of_flow_run",
    "dask_blackbox_says_retry",
    "observed_flow",
]

_HOMES = {
    "BlackboxStore": "blocks",
    "BlackboxTaskRunner": "task_runners",
    "LostTasksError": "errors",
    "NeverRanError": "errors",
    "card_of_flow_run": "cards",
    "dask_blackbox_says_retry": "retries",
    "observed_flow": "flows",
}


def __dir__() -> list[str]:
    # `prefect block register -m` looks through it.
    return [*globals(), *__all__]


def __getattr__(name: str) -> object:
    # The recorder loads `dialect` from here, which takes none of Prefect.
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
