"""dask-blackbox: records scheduled Dask runs and explains why one failed.

from dask_blackbox import recording

with recording(client, store="s3://bucket/dask") as rec:
    …
print(rec.card.headline)
"""

from __future__ import annotations

import sys
from contextlib import suppress
from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    __version__: str
    # For type checkers only: DAG files import this package, and must stay cheap to parse.
    from dask_blackbox.analyse.case import Case
    from dask_blackbox.analyse.rule import Page, Rule
    from dask_blackbox.capture.masked_values import mask_secret
    from dask_blackbox.card import RunCard
    from dask_blackbox.driver import Recording, recording
    from dask_blackbox.finding import Change, Evidence, Finding, Subject
    from dask_blackbox.reader import Run
    from dask_blackbox.reader.runs import runs

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
    "__version__",
    "mask_secret",
    "recording",
    "runs",
]

if "dask.config" in sys.modules:
    # Else they are registered with the first use: a file of DAGs need not import Dask.
    # What fails here fails again there, where a guard reports it: a preload imports this.
    with suppress(Exception):
        import dask_blackbox.settings as _settings  # noqa: F401

_HOMES = {
    "Case": "analyse.case",
    "Change": "finding",
    "Evidence": "finding",
    "Finding": "finding",
    "Page": "analyse.rule",
    "Recording": "driver",
    "Rule": "analyse.rule",
    "Run": "reader",
    "RunCard": "card",
    "Subject": "finding",
    "mask_secret": "capture.masked_values",
    "recording": "driver",
    "runs": "reader.runs",
}


def __getattr__(name: str) -> object:
    if name == "__version__":
        from importlib.metadata import version

        return version("dask-blackbox")
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
