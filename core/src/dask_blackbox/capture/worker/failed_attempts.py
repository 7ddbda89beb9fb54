"""A worker's report of one failed attempt of a task: an `error` row, and its parts."""

from __future__ import annotations

import pickle
import time
import traceback
from typing import TYPE_CHECKING, Any

from ..exceptions import bases_of, message_of, qualified
from ..executions import split
from ..logs import cut, plain

if TYPE_CHECKING:
    from dask.typing import Key

    # Only describe arguments.
    from distributed import Worker
    from distributed.worker_state_machine import WorkerState


KEY, NAME, MESSAGE, TRACEBACK = 1, 5, 6, 7
"""Places in a report of the task's key, and of the exception's class, message and traceback."""

_LONGEST = 20_000


def report_of(
    worker: Worker, key: Key, *, released: bool
) -> tuple[list[Any], BaseException | None] | None:
    """Return the report of a task's failure, and its exception; None if it is unknown.

    Args:
        worker: The worker that ran it.
        released: The task had been released when it raised.
    """
    ts = worker.state.tasks.get(key)
    raised = _unasked_failure(worker.state, key) if released else ts
    if ts is None or raised is None:
        return None
    error = _loaded(getattr(raised, "exception", None))
    if error is None:
        name, message = "Exception", str(getattr(raised, "exception_text", ""))
        text, bases = str(getattr(raised, "traceback_text", "")), None
    else:
        name, message = qualified(type(error)), message_of(error)
        bases = ", ".join(bases_of(error))
        error = error.with_traceback(_loaded(getattr(raised, "traceback", None)))
        text = "".join(traceback.format_exception(error))
    at = time.time() + float(getattr(worker, "scheduler_delay", 0) or 0)
    outcome = "released" if released else ""  # else the scheduler decides
    row = [
        at, str(key), ts.prefix, str(worker.address), outcome, name,
        plain(cut(message, _LONGEST)), _tail(plain(text)), None, bases,
        list(split(getattr(ts, "startstops", None))),
    ]  # fmt: skip
    return row, error


def _unasked_failure(state: WorkerState, key: Key) -> object:
    """Return the failure of a task that was released while it ran.

    Dask drops that exception; the worker's newest stimulus still holds it.
    """
    newest = state.stimulus_log[-1] if state.stimulus_log else None
    failed = getattr(newest, "key", None) == key and hasattr(newest, "exception_text")
    return newest if failed else None


def _loaded(wrapped: object) -> Any:
    """Return the exception (or traceback) that this very process pickled, or None."""
    data = getattr(wrapped, "data", None)
    try:
        return pickle.loads(data) if isinstance(data, bytes) else data
    except Exception:
        return None


def _tail(text: str) -> str:
    """Return the end of a traceback, which has the innermost frames and the message."""
    if len(text) <= _LONGEST:
        return text
    return f"… cut {len(text) - _LONGEST} characters\n{text[-_LONGEST:]}"
