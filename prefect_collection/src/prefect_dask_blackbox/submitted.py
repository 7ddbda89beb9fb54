"""What the flow submitted, and what became of it.

Prefect's own runner forgets a task as soon as it is submitted; so nobody notices one that
dies with its worker.  The ledger knows every key, without holding a future: a flow that
lets go of a result must be able to free it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from distributed import Future
from prefect.client.schemas.objects import State
from prefect.tasks import Task

__all__ = ["Ledger", "SubmittedTask", "is_lost", "one_line"]

_LONGEST_LINE = 400


@dataclass(eq=False)
class SubmittedTask:
    """One task that the flow submitted.

    Attributes:
        key: Of the Dask task.
        task_run_id: Of the Prefect task run.
        task: Prefect's task.
        status: `pending`, `finished`, `error` or `cancelled`, as the client heard it.
        error: What came from Dask instead of a state of the task run; never an exception
            of the user's function, which arrives as a state.
        state: The final state that it reported itself, if the flow asked for it.
        told: The flow has been given the error.
        message: The state message that the task run was last given by us.
    """

    key: str
    task_run_id: UUID
    task: Task[Any, Any]
    status: str = "pending"
    error: BaseException | None = None
    state: State[Any] | None = None
    told: bool = False
    message: str | None = None

    @property
    def lost(self) -> bool:
        """Its end is known, and it is no end that the task itself could report."""
        return self.error is not None and is_lost(self.error)

    @property
    def culprit(self) -> str:
        """Key of the task that died: this one, or the one that it waited for."""
        return str(getattr(self.error, "task", None) or self.key)


def is_lost(error: BaseException) -> bool:
    """Say whether an exception of a Dask future means that the task is lost.

    A future that the flow itself cancelled is not.
    """
    if type(error).__name__ != "FutureCancelledError":
        return True
    return getattr(error, "reason", "") == "scheduler-connection-lost"


def one_line(text: str) -> str:
    """Return text as one line of bounded length."""
    line = " ".join(text.split())
    return line if len(line) <= _LONGEST_LINE else line[: _LONGEST_LINE - 1] + "…"


class Ledger:
    """All tasks that one flow run submitted, in order."""

    def __init__(self) -> None:
        self._tasks: list[SubmittedTask] = []

    def __iter__(self) -> Iterator[SubmittedTask]:
        return iter(list(self._tasks))

    def enter(
        self, future: Future[Any], task: Task[Any, Any], run_id: UUID
    ) -> SubmittedTask:
        """Note a task and follow what becomes of it."""
        entry = SubmittedTask(key=str(future.key), task_run_id=run_id, task=task)
        self._tasks.append(entry)
        # The state that Future objects share, and not the Future: holding that one would
        # keep its result on the cluster until the flow ends.
        future.client.loop.add_callback(_follow, future._state, entry)  # noqa: SLF001
        return entry

    @property
    def lost(self) -> list[SubmittedTask]:
        """Those that are lost, root causes first."""
        errors = {entry.culprit: entry.error for entry in self._tasks if entry.lost}
        for entry in self._tasks:
            # Let go of by the flow, it was not heard of; but another waited for it.
            if entry.error is None and entry.key in errors:
                entry.error = errors[entry.key]
        lost = [entry for entry in self._tasks if entry.lost]
        return sorted(lost, key=lambda entry: entry.culprit != entry.key)

    @property
    def unnoticed(self) -> list[SubmittedTask]:
        """Those that are lost without the flow having been told."""
        told = {entry.culprit for entry in self._tasks if entry.told}
        return [
            entry for entry in self.lost if not entry.told and entry.culprit not in told
        ]


async def _follow(state: Any, entry: SubmittedTask) -> None:
    await state.wait()
    if entry.status != "pending":
        return
    entry.status = state.status
    if state.status == "error" or (
        state.status == "cancelled" and is_lost(state.exception)
    ):
        entry.error = state.exception
