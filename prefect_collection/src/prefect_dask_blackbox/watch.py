"""Around the flow's own function: begin before its first line, check after its last.

Here the flow can still fail by itself, with its retries, hooks and callers none the wiser
that a recorder found out; after the engine has set the final state it is too late for that.
"""

from __future__ import annotations

import asyncio
from types import TracebackType
from typing import Any, Self

from dask_blackbox.guard import guard
from prefect.context import FlowRunContext
from prefect.utilities.annotations import quote
from prefect.utilities.collections import StopVisiting, visit_collection

from prefect_dask_blackbox.futures import BlackboxFuture
from prefect_dask_blackbox.observed_run import ObservedRun
from prefect_dask_blackbox.task_runners import BlackboxTaskRunner

__all__ = ["Watch", "watching"]


class Watch:
    """Watches one call of a flow's function."""

    def __init__(self, runner: BlackboxTaskRunner | None) -> None:
        self._runner = runner
        self._run: ObservedRun | None = None

    def __enter__(self) -> Self:
        if self._runner is not None:
            self._run = self._runner.observe()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        if error is not None and self._run is not None:
            with guard("ending the recording of a failed flow"):
                self._run.end(exception=error)
                self._run.follow_advice()

    async def __aenter__(self) -> Self:
        # Off the event loop: starting may have to wait for a slow store.
        return await asyncio.to_thread(self.__enter__)

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        if isinstance(error, Exception):
            await asyncio.to_thread(self.__exit__, kind, error, traceback)
        else:
            # The loop is being cancelled, and would not wait for a thread.
            self.__exit__(kind, error, traceback)

    def landed(self, result: Any) -> None:
        """Check that no task was lost unnoticed.

        Raises:
            LostTasksError: if one was, and the flow is to fail for it.
        """
        run = self._run
        if run is None:
            return
        # The engine would wait for them next, and sum up their states without a reason.
        with guard("waiting for the futures that the flow returned"):
            for future in _futures_in(result):
                future.wait()
        loss = None
        with guard("looking for lost tasks"):
            loss = run.unnoticed_loss()
        if loss is not None:
            raise loss

    async def landed_async(self, result: Any) -> None:
        """Check as `landed` does, off the event loop."""
        await asyncio.to_thread(self.landed, result)


def watching() -> Watch:
    """Return the watch for the flow run that is about to call its function.

    It watches nothing where there is no flow run (`flow.fn(...)`), on a worker, and when
    the flow was given another task runner later.
    """
    context = FlowRunContext.get()
    runner = context.task_runner if context is not None else None
    return Watch(runner if isinstance(runner, BlackboxTaskRunner) else None)


def _futures_in(result: Any) -> list[BlackboxFuture[Any]]:
    found: list[BlackboxFuture[Any]] = []

    def look_at(part: Any, context: dict[str, Any]) -> None:
        if isinstance(context.get("annotation"), quote):
            raise StopVisiting
        if isinstance(part, BlackboxFuture):
            found.append(part)

    visit_collection(result, visit_fn=look_at, return_data=False, context={})
    return found
