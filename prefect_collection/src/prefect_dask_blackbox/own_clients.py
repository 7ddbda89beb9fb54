"""Dask clients that a flow makes itself: on the recording of the flow run that made them."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any

from dask_blackbox.driver import own_clients
from dask_blackbox.guard import guard

if TYPE_CHECKING:
    from prefect_dask_blackbox.observed_run import ObservedRun

__all__ = ["begin_with", "end_with", "entered", "not_ours", "others_than"]

_here: ContextVar[ObservedRun | None] = ContextVar("dask_blackbox_run", default=None)
_ours: ContextVar[bool] = ContextVar("dask_blackbox_client", default=False)
_live: list[ObservedRun] = []
_lock = threading.Lock()


def begin_with(run: ObservedRun) -> None:
    """Record the clients that a flow run makes from now on, and those that nobody records."""
    with _lock:
        _live.append(run)
        if len(_live) == 1:
            own_clients.listen(_recording_of)
    with guard("the Dask clients of this process"):
        for client in own_clients.clients_without():
            own_clients.note_owner(client, run.recording)
            run.recording.attach(client)


def end_with(run: ObservedRun) -> None:
    """Undo `begin_with`."""
    with _lock:
        if run in _live:
            _live.remove(run)
            if not _live:
                own_clients.unlisten(_recording_of)


def others_than(run: ObservedRun) -> list[ObservedRun]:
    """Return the other flow runs of this process that are recorded now."""
    with _lock:
        return [each for each in _live if each is not run]


def entered(run: ObservedRun | None) -> ObservedRun | None:
    """Have clients that are made in this context belong to a run; return whose they were."""
    before = _here.get()
    _here.set(run)
    return before


@contextmanager
def not_ours() -> Iterator[None]:
    """Leave a client that is made in here to whoever makes it."""
    token = _ours.set(True)
    try:
        yield
    finally:
        _ours.reset(token)


def _recording_of(client: Any) -> Any:
    if _ours.get():
        return None
    run = _here.get()
    if run is None or run not in _live:  # made in a thread of the flow's own
        run = _live[-1] if _live else None
    return None if run is None else run.recording
