"""Flows that return failed states: why they failed, and the message of their own state.

Prefect sums up the states that a flow returns: “2/40 states failed.”  That is the message
of the flow run's state, in the UI and in notifications, where a verdict is of more use.
So it is of a task's time limit, of which Prefect says neither the task nor the limit, of a
signal: “Execution was aborted by a termination signal.”, and of Dask's own exceptions where
the flow uses Dask itself: “Inspecting worker logs is often a good next step.”
"""

from __future__ import annotations

import ast
import builtins
import re
import traceback
from contextlib import suppress
from typing import Any
from uuid import UUID

from dask_blackbox.patterns import bounded
from prefect.client.schemas.objects import State
from prefect.exceptions import FailedRun, UnfinishedRun

__all__ = [
    "exceeded_limit",
    "exception_in",
    "exception_of",
    "exception_of_state",
    "is_dasks",
    "readable",
    "reason_of",
    "say_why",
]

_RAISED = bounded(r"Task run encountered an exception (\w+): (.*)", re.DOTALL)
# Of a `TimeoutError` that the task's own code raised; of its limit, the next one.
_RAISED_TIMEOUT = bounded(r"Task run failed due to timeout: (.*)", re.DOTALL)
_LIMIT = "Task run exceeded timeout of "
_SUMMED_UP = bounded(
    r"\d+/\d+ states |Given states: |Flow run (?:failed due to|exceeded) timeout"
    r"|Execution was (aborted|cancelled) by |Flow run was cancelled\.$"
)


def exception_of(state: object) -> BaseException | None:
    """Return the exception that a state was made from, if it is at hand."""
    data = getattr(state, "data", None)
    found = getattr(data, "result", data)
    return found if isinstance(found, BaseException) else None


def exception_of_state(state: State[object]) -> BaseException | None:
    """Return what a failed task raised: of the state's message, if no more is left of it.

    The exception itself is in the task's result, which Dask releases with its last future.
    """
    found, raised = exception_of(state), _raised_in(state.message or "")
    if found is not None or raised is None:
        return found
    name, text = raised
    known = getattr(builtins, name, None)
    if known is KeyError:  # its text is the `repr` of its key
        with suppress(SyntaxError, ValueError):
            return KeyError(ast.literal_eval(text))
    if isinstance(known, type) and issubclass(known, Exception):
        with suppress(TypeError):  # of the few that want more than a text
            return known(text)
    made: BaseException = type(name, (Exception,), {"__module__": "__main__"})(text)
    return made


def reason_of(state: State[object] | None) -> str:
    """Return why a task failed, as its state says it, without Prefect's introduction."""
    text = (state and state.message) or "it failed"
    raised = _raised_in(text)
    return text if raised is None else ": ".join(raised)


def exceeded_limit(state: State[object] | None) -> bool:
    """Return whether a task was ended by its own `timeout_seconds`.

    To Prefect, one whose code raised a `TimeoutError` is `TimedOut`, too.
    """
    return state is not None and (state.message or "").startswith(_LIMIT)


def readable(error: str) -> str:
    """Return an exception's `repr` as its state's message: class, colon, text."""
    name, _, rest = error.partition("(")
    with suppress(SyntaxError, ValueError):
        text = ast.literal_eval(f"({rest}")
        if isinstance(text, str):
            return f"{name}: {text!r}" if name == "KeyError" else f"{name}: {text}"
    return error


def _raised_in(message: str) -> tuple[str, str] | None:
    """Return class and text of the exception that the message of a task's state reports."""
    if match := _RAISED.match(message):
        return match[1], match[2]
    if match := _RAISED_TIMEOUT.match(message):
        name, _, text = readable(match[1]).partition(": ")
        return name, text
    return None


def exception_in(state: State[object]) -> BaseException:
    """Return why a returned state is not a completed one: its exception, or its message."""
    if not state.is_final():
        return UnfinishedRun(state.message or "The task did not begin.")
    return exception_of(state) or FailedRun(state.message or "Run failed.")


def is_dasks(error: BaseException) -> bool:
    """Return whether an exception is one of Dask's cluster, which tells what it noticed last.

    Of one that a task raised, the innermost frame is the task's.
    """
    frames = [frame for frame, _ in traceback.walk_tb(error.__traceback__)]
    where = [str(frame.f_globals.get("__name__")) for frame in frames[-1:]]
    return any(
        name.startswith("distributed.") for name in (type(error).__module__, *where)
    )


def say_why(
    client: Any, flow_run_id: UUID, why: str, error: BaseException | None = None
) -> None:
    """Give the final state that the engine is about to set a message that says why.

    The engine offers no place for it: what the flow returns decides on what its caller
    gets, and a state that is set afterwards would notify everybody twice.

    Args:
        client: The engine's own, of this flow run.
        flow_run_id: Of the flow run.
        why: The message.
        error: What the flow raised, if a message that quotes it is to be replaced, too.
    """
    quoted = f"Flow run encountered an exception: {type(error).__name__}"
    plain = client.set_flow_run_state

    def set_flow_run_state(flow_run: Any, state: Any, *args: Any, **more: Any) -> Any:
        mine = str(flow_run) == str(flow_run_id)
        ends = mine and state.is_final()
        said = state.message or ""
        if ends and (_SUMMED_UP.match(said) or said.startswith(quoted)):
            state.message = why
        if ends:
            client.set_flow_run_state = plain
        return plain(flow_run, state, *args, **more)

    client.set_flow_run_state = set_flow_run_state
