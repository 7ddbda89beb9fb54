"""The future of a recorded task: it raises if the task was lost."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from typing import TypeVar
from uuid import UUID

from distributed import Future
from prefect.client.schemas.objects import State
from prefect.exceptions import UnfinishedRun
from prefect.states import Cancelled, Crashed
from prefect_dask.task_runners import PrefectDaskFuture

from prefect_dask_blackbox.lost_tasks import LostTasks
from prefect_dask_blackbox.submitted_tasks import SubmittedTask, is_lost

__all__ = ["BlackboxFuture"]

R = TypeVar("R")


class BlackboxFuture(PrefectDaskFuture[R]):
    """A `PrefectDaskFuture` whose `wait` and `state` tell of a lost task.

    `result` raises what Dask raised, as before; of a task that Prefect never ran, an
    `UnfinishedRun` that says why.
    """

    def __init__(
        self,
        task_run_id: UUID,
        wrapped_future: Future[object],
        *,
        entry: SubmittedTask,
        lost_tasks: LostTasks,
        why_unfinished: Callable[[SubmittedTask, BaseException], BaseException | None],
    ) -> None:
        super().__init__(task_run_id=task_run_id, wrapped_future=wrapped_future)
        self._entry = entry
        self._lost_tasks = lost_tasks
        self._why_unfinished = why_unfinished

    def __reduce__(self) -> tuple[object, ...]:
        # Wherever it travels to, this package may not be installed.
        return (PrefectDaskFuture, (self._task_run_id, self._wrapped_future))

    @property
    def state(self) -> State[object]:
        # Whoever reads the state of a lost task has been notified.
        self._entry.reported = self._entry.reported or self._entry.lost
        state: State[object] = super().state
        return state

    def wait(self, timeout: float | None = None) -> None:
        with suppress(Exception):
            self._settle(timeout)

    def result(
        self,
        timeout: float | None = None,
        raise_on_failure: bool = True,  # noqa: FBT001, FBT002 - Prefect's signature
    ) -> R:
        try:
            self._settle(timeout)
        except Exception as error:
            if isinstance(error, TimeoutError) and self._final_state is None:
                raise TimeoutError(
                    f"Task run {self.task_run_id} did not complete within {timeout} seconds"
                ) from error
            self._entry.reported = True
            if raise_on_failure or self._final_state is None:
                raise
        try:
            value: R = super().result(
                timeout=timeout, raise_on_failure=raise_on_failure
            )
        except UnfinishedRun as error:
            # To Prefect, no more is known than that it is pending.
            why = self._why_unfinished(self._entry, error)
            if why is None:
                raise
            raise why from error
        return value

    def _settle(self, timeout: float | None) -> None:
        """Wait for the final state; raise what came instead of one."""
        if self._final_state is None:
            try:
                outcome = self._wrapped_future.result(timeout=timeout)
            except Exception as error:
                self._note_failure(error)
                raise
            if isinstance(outcome, State):
                self._final_state = self._entry.state = outcome
        elif self._entry.error is not None:
            raise self._entry.error

    def _note_failure(self, error: Exception) -> None:
        status = self._wrapped_future.status
        if status == "pending":
            return  # the timeout was reached, or the client is closed
        if not is_lost(error):
            self._final_state = Cancelled(message="The flow cancelled this task.")
            return
        self._entry.status, self._entry.error = str(status), error
        message = self._lost_tasks.sentence(self._entry)
        self._final_state = Crashed(message=message, data=error)
