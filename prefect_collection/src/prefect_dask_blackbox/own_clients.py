"""Attaches Dask clients that a flow makes itself to the recording of its flow run."""

from __future__ import annotations

import functools
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any
from weakref import WeakSet

from dask_blackbox.driver import own_clients
from dask_blackbox.guard import guard
from prefect.context import FlowRunContext
from prefect.tasks import Task
from prefect_dask.client import PrefectDaskClient

if TYPE_CHECKING:
    from prefect_dask_blackbox.observed_run import ObservedRun

__all__ = [
    "begin_with",
    "clients_of_others",
    "current_run",
    "end_with",
    "entered",
    "others_than",
]

_here: ContextVar[ObservedRun | None] = ContextVar("dask_blackbox_run", default=None)
_ours: ContextVar[bool] = ContextVar("dask_blackbox_client", default=False)
_live: list[ObservedRun] = []
_of_runners: WeakSet[object] = WeakSet()
"""Clients of recorded task runners, which attach them to their own run a moment later."""
_lock = threading.Lock()


def begin_with(run: ObservedRun) -> None:
    """Record the clients that a flow run makes from now on, and those that nobody records."""
    with _lock:
        _live.append(run)
        if len(_live) == 1:
            own_clients.listen(_recording_of)
    with guard("the Dask clients of this process"):
        for client in own_clients.clients_without():
            if client in _of_runners:
                continue
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


def current_run() -> ObservedRun | None:
    """Return the run that clients which are made in this context belong to."""
    return _here.get()


def entered(run: ObservedRun | None) -> ObservedRun | None:
    """Have clients that are made in this context belong to a run; return whose they were."""
    before = _here.get()
    _here.set(run)
    return before


@contextmanager
def clients_of_others() -> Iterator[None]:
    """Leave a client that is made in here to whoever makes it."""
    token = _ours.set(True)
    try:
        yield
    finally:
        _ours.reset(token)


def _recording_of(client: object) -> Any:
    if _ours.get():
        _of_runners.add(client)
        return None
    run = _here.get()
    if run is None or run not in _live:  # made in a thread of the flow's own
        run = _live[-1] if _live else None
    if run is None:
        return None
    if isinstance(client, PrefectDaskClient):
        _note_submitted(client, run)
    return run.recording


def _note_submitted(client: Any, run: ObservedRun) -> None:
    """Have a run know the tasks that a task runner which nobody records submits.

    Such a subflow's work is on the recording of its parent, under keys of Dask's.
    """
    submit = client.submit

    @functools.wraps(submit)
    def submit_and_note(function: Any, *args: Any, **kwargs: Any) -> Any:
        future = submit(function, *args, **kwargs)
        context = FlowRunContext.get()
        if isinstance(function, Task) and context is not None and context.flow_run:
            with guard("noting a task of a subflow"):
                _note_task(run, context, future, function, kwargs)
        return future

    client.submit = submit_and_note


def _note_task(
    run: ObservedRun,
    context: FlowRunContext,
    future: Any,
    task: Task[Any, Any],
    given: Mapping[str, Any],
) -> None:
    from prefect_dask_blackbox.ignored_annotations import allowed_in

    if context.flow_run is None:
        return
    parameters, wait_for = given.get("parameters") or {}, given.get("wait_for")
    run.ledger.enter_other(
        str(future.key),
        task,
        future.task_run_id,
        parameters,
        flow_run_id=context.flow_run.id,
        flow="" if context.flow is None else context.flow.name,
        allowed=(allowed_in(parameters), allowed_in(wait_for)),
    )
