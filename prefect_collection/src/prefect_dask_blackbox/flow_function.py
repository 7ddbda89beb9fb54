"""Wraps the flow's own function: starts the recording before it, checks the tasks after it.

Here the flow can still fail by itself, with its retries, hooks and callers none the wiser
that a recorder found out; after the engine has set the final state it is too late for that.
"""

from __future__ import annotations

import asyncio
from types import TracebackType
from typing import Any, Self

from dask_blackbox.guard import guard
from prefect.client.schemas.objects import State
from prefect.context import FlowRunContext
from prefect.futures import PrefectFuture
from prefect.utilities.annotations import quote
from prefect.utilities.collections import StopVisiting, visit_collection

from prefect_dask_blackbox.endings import interrupt_in
from prefect_dask_blackbox.observed_run import ObservedRun
from prefect_dask_blackbox.options import RecordingOptions
from prefect_dask_blackbox.outgoing import outgoing
from prefect_dask_blackbox.own_clients import entered
from prefect_dask_blackbox.returned_states import exception_in, is_dasks, say_why
from prefect_dask_blackbox.task_runners import RecordedRunner, observed_here

__all__ = ["Watch", "watching"]


class Watch:
    """Watches one call of a flow's function.

    Args:
        context: Of the flow run; None where there is none.
        options: How to record a flow whose task runner does not know.
        began: When the flow's function was called, by `time.monotonic`; None: now.
    """

    def __init__(
        self,
        context: FlowRunContext | None,
        options: RecordingOptions | None,
        began: float | None = None,
    ) -> None:
        runner = context.task_runner if context is not None else None
        self._runner = runner if isinstance(runner, RecordedRunner) else None
        self._context, self._options = context, options or RecordingOptions()
        self._began = began
        self._run: ObservedRun | None = None
        self._before: ObservedRun | None = None

    def __enter__(self) -> Self:
        self._begin()
        self._before = entered(self._run)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        entered(self._before)
        if error is None:
            return
        met = interrupt_in(error)
        if (other := self._failed(met)) is not None:
            raise other from error
        if met is not error:
            raise met from None

    async def __aenter__(self) -> Self:
        # Off the event loop: starting may have to wait for a slow store.
        await asyncio.to_thread(self._begin)
        self._before = entered(self._run)
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        entered(self._before)
        if error is None:
            return
        met = interrupt_in(error)
        if isinstance(met, Exception):
            other = await asyncio.to_thread(self._failed, met)
        else:
            # The loop is being cancelled, and would not wait for a thread.
            other = self._failed(met)
        if other is not None:
            raise other from error
        if met is not error:
            raise met from None

    def landed(self, result: object) -> None:
        """Raise if tasks were lost and the flow has not noticed.

        Raises:
            LostTasksError: if one was, and the flow is to fail for it.
        """
        run = self._run
        if run is None:
            return
        # The engine would wait for them next, and sum up their states without a reason.
        found = _outcomes_in(result)
        with guard("waiting for the futures that the flow returned"):
            for future in found:
                if isinstance(future, PrefectFuture):
                    future.wait()
        loss = None
        with guard("looking for lost tasks"):
            loss = run.unnoticed_loss()
        if loss is not None:
            raise loss
        failing = _failing(result)
        if failing is not None:
            # Before the engine sets the state, and decides on retries.
            with guard("ending the recording of a flow that returned a failed state"):
                run.end(exception=exception_in(failing), state="failed")
                run.follow_advice()
                self._say_why(run)
            return
        # A state that the flow itself made stays as it is.
        run.completes = not isinstance(result, State)
        if self._runner is not None:
            run.recording.ending()  # while the engine sets the state
        else:  # nobody else will end the recording
            with guard("ending the recording of a flow"):
                run.end(state="failed" if _any_failed(found) else "succeeded")

    async def landed_async(self, result: object) -> None:
        """Check as `landed` does, off the event loop."""
        await asyncio.to_thread(self.landed, result)

    def _say_why(self, run: ObservedRun, error: BaseException | None = None) -> None:
        """Put the reason into the state that the engine is about to set."""
        context, card = self._context, run.card
        if context is not None and card is not None and card.verdict is not None:
            headline = outgoing(card.headline)
            say_why(context.client, run.flow_run.id, headline, error)

    def _begin(self) -> None:
        if self._runner is not None:
            self._run = self._runner.observe(self._began)
        elif self._context is not None:
            self._run = observed_here(self._context, self._options, self._began)

    def _failed(self, error: BaseException) -> BaseException | None:
        """End the recording; return what the flow is to raise instead, if something."""
        other: BaseException | None = None
        if self._run is not None:
            with guard("ending the recording of a failed flow"):
                self._run.end(exception=error)
                self._run.follow_advice()
                other = self._run.explained_exception(error)
                if other is None and is_dasks(error):
                    self._say_why(self._run, error)
                elif isinstance(error, TimeoutError) or not isinstance(
                    error, Exception
                ):
                    self._say_why(self._run)
                if self._runner is None:  # else it does so, when all else is settled
                    self._run.report_end()
        return other


def watching(
    options: RecordingOptions | None = None, *, began: float | None = None
) -> Watch:
    """Return the watch for the flow run that is about to call its function.

    It watches nothing where there is no flow run (`flow.fn(...)`), and on a worker.

    Args:
        options: How to record a flow whose task runner does not know.
        began: When the flow's function was called, by `time.monotonic`; None: now.
    """
    return Watch(FlowRunContext.get(), options, began)


def _failing(result: Any) -> State[Any] | None:
    """Return the first state of a result that did not complete, if Prefect's engine makes a failure of it.

    It looks into lists, sets and tuples that hold nothing but states, or futures; and a
    state that the flow itself has made stays as it is.
    """
    parts = list(result) if isinstance(result, (list, set, tuple)) else [result]
    if not parts or not all(isinstance(each, (PrefectFuture, State)) for each in parts):
        return None
    states = [*map(_state_of, parts)]
    own = [each.state_details for each in states]
    if not (own[0].flow_run_id or own[0].task_run_id) and states[0] is result:
        return None
    if any(each.is_cancelled() or each.is_paused() for each in states):
        return None
    return next((each for each in states if not each.is_completed()), None)


def _state_of(part: Any) -> State[Any]:
    return part.state if isinstance(part, PrefectFuture) else part


def _any_failed(found: list[Any]) -> bool:
    for each in found:
        state = _state_of(each)
        if state.is_failed() or state.is_crashed():
            return True
    return False


def _outcomes_in(result: object) -> list[object]:
    """Return the futures and states in what a flow returned."""
    found: list[object] = []

    def look_at(part: object, context: dict[str, object]) -> None:
        if isinstance(context.get("annotation"), quote):
            raise StopVisiting
        if isinstance(part, (PrefectFuture, State)):
            found.append(part)

    with guard("the result of the flow"):
        visit_collection(result, visit_fn=look_at, return_data=False, context={})
    return found
