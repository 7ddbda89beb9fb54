"""How Prefect or asyncio ends a flow run: by a signal, a cancel or a time limit.

To the flow each of them is an exception like any other; which of them it was stands in its
class, in the flow's own settings and in the state that the server has.
"""

from __future__ import annotations

import asyncio
import concurrent.futures
import sys
import time
from collections import deque
from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING
from uuid import UUID

from dask_blackbox.card import RunCard
from dask_blackbox.driver.run_end import as_interrupted
from dask_blackbox.errors import chained
from dask_blackbox.guard import guard
from dask_blackbox.manifest import StopReason
from prefect.exceptions import Pause, TerminationSignal
from prefect.flow_engine import FlowRunEngine
from pydantic_core import PydanticSerializationError

from prefect_dask_blackbox.cancelling import CANCELLED, cancel_message
from prefect_dask_blackbox.identity import page_of, prefect_client

if TYPE_CHECKING:
    # Host types that only describe arguments.
    from prefect.client.schemas.objects import FlowRun

__all__ = [
    "FailedPart",
    "HostStop",
    "dies_unreported",
    "failed_part",
    "interrupt_in",
    "note_failed",
    "stop_of",
]

_TOLERANCE = 0.5
"""Seconds by which a time limit may have begun after we did."""
_REMEMBERED = 20
_CANCELLATIONS = (asyncio.CancelledError, concurrent.futures.CancelledError)


@dataclass(frozen=True, kw_only=True)
class HostStop:
    """That Prefect ended a flow run.

    Attributes:
        reason: Why.
        by: Who did: `prefect`, `host` or `event-loop`.
        detail: Its own words.
        limit: Seconds that it was allowed to take.
        setting: Prefect's name of that limit.
    """

    reason: StopReason
    by: str = "prefect"
    detail: str = ""
    limit: float | None = None
    setting: str = ""


def stop_of(
    error: BaseException | None,
    flow_run: FlowRun,
    *,
    limit: float | None,
    began: float,
    parent_id: UUID | None = None,
) -> HostStop | None:
    """Return how a flow run was ended that did not end by itself.

    Args:
        error: What ended the flow's function, or its state's exception.
        flow_run: The flow run.
        limit: Its `timeout_seconds`.
        began: When it began, by `time.monotonic`.
        parent_id: Of the flow run that it is a subflow of.
    """
    # A pause waits in the flow's process, and raises nothing.
    if isinstance(error, Pause):
        return HostStop(reason="suspended")
    state = flow_run.state
    timed_out = state is not None and state.name == "TimedOut"
    if limit and (timed_out or _is_of_the_limit(error, limit, began)):
        return HostStop(
            reason="run-timeout",
            detail=f"Flow run exceeded timeout of {limit:g} second(s)",
            limit=limit,
            setting="timeout_seconds",
        )
    asked = isinstance(error, (TerminationSignal, asyncio.CancelledError))
    over = state is not None and (state.is_cancelled() or state.is_cancelling())
    if not asked and not over:
        return None
    words = _cancelled(flow_run.id)
    if over or words is not None:
        return HostStop(reason="cancelled", detail=words or CANCELLED)
    if isinstance(error, TerminationSignal) or _loop_got_sigterm():
        # Prefect only hands SIGTERM on; who sent it is not known here.
        return HostStop(reason="evicted", by="host", detail="its process got SIGTERM")
    return _cancelled_by_the_loop(error, flow_run.id, parent_id)


def _cancelled_by_the_loop(
    error: BaseException | None, flow_run_id: UUID, parent_id: UUID | None
) -> HostStop | None:
    """Return that asyncio cancelled a flow run, and why, as far as is known.

    `asyncio.run` cancels what still runs when its main flow has failed, and a task group
    the others when one of them has.
    """
    if type(error) is not asyncio.CancelledError or as_interrupted(error) is not error:
        return None
    detail = str(error)
    for part in _failed if parent_id is not None else ():
        related = parent_id in (part.flow_run_id, part.parent_id)
        if related and part.flow_run_id != flow_run_id:
            detail = f"cancelled when {part.name} had failed: {part.card.headline}"
    return HostStop(reason="cancelled", by="event-loop", detail=detail)


def _loop_got_sigterm() -> bool:
    """Return whether the event loop that runs here ends because of SIGTERM.

    Where the signal arrives while the loop waits, `asyncio.run` gets what its handler
    raises, and cancels the flow while it exits.
    """
    frame = sys._getframe()  # noqa: SLF001 - documented, for just this
    while frame.f_code is not asyncio.Runner.__exit__.__code__:
        if frame.f_back is None:
            return False
        frame = frame.f_back
    return isinstance(frame.f_locals.get("exc_val"), TerminationSignal)


def dies_unreported() -> bool:
    """Return whether this Prefect ends a process that got SIGTERM before it reports a crash.

    Up to 3.7 its engine sends itself the signal again on the way out, while it leaves what
    a flow run is set up with; of a plain script nobody else reports it.
    """
    set_up = getattr(FlowRunEngine.setup_run_context, "__wrapped__", None)
    return set_up is not None and "capture_sigterm" in set_up.__code__.co_names


def interrupt_in(error: BaseException) -> BaseException:
    """Return the interrupt that became an error of pydantic's; any other error as it is.

    Time limits and SIGTERM raise an exception wherever the flow is.  Within a serialiser,
    which each submitted task runs, pydantic makes an exception of its own of it, which
    Prefect takes for one of the flow's.
    """
    found: BaseException | None = error
    while isinstance(found, PydanticSerializationError):
        found = found.__cause__
    return error if found is None or isinstance(found, Exception) else found


def _is_of_the_limit(error: BaseException | None, limit: float, began: float) -> bool:
    if type(error).__name__ == "FlowRunTimeoutError":
        return True
    # Prefect's own class is raised into a synchronous flow by nothing else.
    own = type(error).__module__.startswith("prefect.")
    if own and isinstance(error, asyncio.CancelledError):
        return True
    # What Dask and others make of it where it interrupts them.
    cancelled = any(isinstance(each, _CANCELLATIONS) for each in chained(error))
    return cancelled and time.monotonic() - began >= limit - _TOLERANCE


def _cancelled(flow_run_id: UUID) -> str | None:
    """Return who asked Prefect to cancel a flow run; None if nobody did."""
    words: str | None = None
    with (
        guard("asking Prefect whether the flow run was cancelled"),
        prefect_client() as client,
    ):
        words = cancel_message(client, flow_run_id)
    return words  # noqa: RET504 - the guard swallows errors


@dataclass(frozen=True, kw_only=True)
class FailedPart:
    """A flow run of this process that failed, and the exception that it raised.

    Attributes:
        errors: The exception objects: what it raised, and what its recording ended with.
        flow_run_id: Of the flow run.
        parent_id: Of the flow run that it is a subflow of.
        name: Its name.
        card: Its card.
        url: Of its page.
    """

    errors: tuple[BaseException, ...]
    flow_run_id: UUID
    parent_id: UUID | None
    name: str
    card: RunCard
    url: str


_failed: deque[FailedPart] = deque(maxlen=_REMEMBERED)


def note_failed(
    errors: Iterable[BaseException | None],
    flow_run: FlowRun,
    flow_name: str,
    card: RunCard | None,
    parent_id: UUID | None = None,
) -> None:
    """Remember that a flow run failed: another one may fail of the same exception."""
    known = tuple(error for error in errors if error is not None)
    if not known or card is None or card.verdict is None:
        return
    name = f"{flow_name} ({flow_run.name})"
    _failed.append(
        FailedPart(
            errors=known,
            flow_run_id=flow_run.id,
            parent_id=parent_id,
            name=name,
            card=card,
            url=page_of("flow-run", flow_run.id),
        )
    )


def failed_part(error: BaseException | None, flow_run_id: UUID) -> FailedPart | None:
    """Return the other flow run that an exception comes from, if it comes from one."""
    for each in chained(error):
        for part in reversed(_failed):
            own = part.flow_run_id == flow_run_id
            if not own and any(error is each for error in part.errors):
                return part
    return None
