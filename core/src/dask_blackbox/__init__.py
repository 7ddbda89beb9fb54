"""dask-blackbox: the flight recorder for scheduled Dask runs.

from dask_blackbox import recording

with recording(client, store="s3://bucket/dask") as rec:
    …
print(rec.card.headline)
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    # For type checkers only: DAG files import this package, and must stay cheap to parse.
    from dask_blackbox.analyse.case import Case
    from dask_blackbox.analyse.rule import Page, Rule
    from dask_blackbox.attach import RunCard
    from dask_blackbox.finding import Change, Evidence, Finding, Subject
    from dask_blackbox.flight import Recording, recording
    from dask_blackbox.opened import Run

__all__ = [
    "Case",
    "Change",
    "Evidence",
    "Finding",
    "Page",
    "Recording",
    "Rule",
    "Run",
    "RunCard",
    "Subject",
    "recording",
]

_HOMES = {
    "Case": "analyse.case",
    "Change": "finding",
    "Evidence": "finding",
    "Finding": "finding",
    "Page": "analyse.rule",
    "Recording": "flight",
    "Rule": "analyse.rule",
    "Run": "opened",
    "RunCard": "attach",
    "Subject": "finding",
    "recording": "flight",
}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
