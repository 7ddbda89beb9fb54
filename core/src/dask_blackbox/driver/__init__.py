"""The driver's side of a recording: start it, attach clients, finish it, hold the card.

What starts a recording is loaded when it is asked for: a process of a recorded command
needs only the modules that join its clients to one.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from dask_blackbox.driver.session import Recording, recording

__all__ = ["Recording", "recording"]

_HOMES = {"Recording": "session", "recording": "session"}


def __getattr__(name: str) -> object:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
