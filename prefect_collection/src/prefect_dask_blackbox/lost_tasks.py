"""Tasks that were lost with their worker: Prefect is told, since nobody else tells it.

A task run reports its states from the worker that runs it, so one whose worker is killed
stays RUNNING for ever, and those that wait for it never come into being.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from typing import Any
from uuid import UUID

from dask_blackbox.attach import RunCard
from dask_blackbox.finding import Finding
from dask_blackbox.guard import guard
from distributed import KilledWorker
from prefect.client.orchestration import SyncPrefectClient
from prefect.client.schemas.filters import TaskRunFilter
from prefect.client.schemas.objects import State, TaskRun
from prefect.exceptions import ObjectNotFound
from prefect.states import Crashed

from prefect_dask_blackbox.identity import prefect_client
from prefect_dask_blackbox.submitted import Ledger, SubmittedTask, one_line

__all__ = ["LostTasks", "cause_of", "sentence_of", "title_of"]

_SETTLING = 3.0
"""Seconds in which a task's own last words may still reach Prefect's database."""
_PAGE = 200


class LostTasks:
    """Tells Prefect what became of the tasks of one flow run."""

    def __init__(self, flow_run_id: UUID, ledger: Ledger) -> None:
        self._flow_run_id = flow_run_id
        self._ledger = ledger

    def tell(self, entry: SubmittedTask, verdict: Finding | None = None) -> str:
        """Set a lost task's run to Crashed, creating it if it never came into being.

        A run that ended by itself before its result was lost keeps its state.

        Returns:
            The state's message.
        """
        message = sentence_of(entry, verdict)
        if message != entry.message:
            with prefect_client() as client:
                _crash(client, self._flow_run_id, entry, message)
        return message

    def tell_all(self, card: RunCard | None) -> None:
        """Set all lost tasks' runs to Crashed, with the card's verdict where it fits."""
        for entry in self._ledger.lost:
            with guard("telling Prefect of a lost task"):
                self.tell(entry, card.verdict if card else None)

    def tell_rest(self, *, cluster_gone: bool, workers_died: bool) -> None:
        """Give a final state to task runs that nobody else will give one.

        Those that the flow did not wait for can't end any more when the cluster is gone.
        And where workers died, a task's own last words may have died with them; or its
        result, so that Dask began to run it once more.

        Args:
            cluster_gone: Nothing of this flow run can be running any more.
            workers_died: Look at the tasks that finished, too.
        """
        entries = {
            entry.task_run_id: entry
            for entry in self._ledger
            if not entry.lost
            and (workers_died if entry.status == "finished" else cluster_gone)
        }
        if not entries:
            return
        deadline = time.monotonic() + _SETTLING
        with prefect_client() as client:
            while left := list(_unfinished(client, list(entries))):
                if time.monotonic() > deadline:
                    break
                time.sleep(0.25)
            for run in left:
                state = _last_state(entries[run.id])
                client.set_task_run_state(run.id, state, force=True)


_ABANDONED = (
    "Abandoned: the flow run ended, and its Dask cluster with it, before this task did. "
    "Wait for its future in the flow."
)
_UNHEARD = "It ended, but how it ended was lost with its worker."


def _last_state(entry: SubmittedTask) -> State[Any]:
    if entry.state is not None:
        known = entry.state
        return State(type=known.type, name=known.name, message=known.message)
    finished = entry.status == "finished"
    return Crashed(message=_UNHEARD if finished else _ABANDONED)


def cause_of(error: BaseException | None) -> str:
    """Return what Dask said, in one line."""
    if isinstance(error, KilledWorker):
        tried = error.allowed_failures + 1
        on = f"{tried} workers, and all of them" if tried > 1 else "a worker, which"
        return f"KilledWorker: it was tried on {on} died while running it."
    return one_line(f"{type(error).__name__}: {error}")


def sentence_of(entry: SubmittedTask, verdict: Finding | None) -> str:
    """Return why a task run is Crashed: the verdict if it is about it, else the exception."""
    cause = cause_of(entry.error)
    if verdict is not None and _is_about(verdict, entry.culprit):
        cause = one_line(f"{verdict.title}. {verdict.cause}")
    if entry.culprit != entry.key:
        return (
            f"Never ran, because it waited for {entry.culprit}, which was lost. {cause}"
        )
    return f"Lost: {cause}"


def title_of(entry: SubmittedTask, verdict: Finding | None) -> str:
    """Return in a few words why a task is lost."""
    if verdict is not None and _is_about(verdict, entry.culprit):
        return f"{one_line(verdict.title)}."
    return cause_of(entry.error)


def _is_about(verdict: Finding, key: str) -> bool:
    subject = verdict.subject
    if verdict.rule == "unknown":
        return False
    if subject.key is not None:
        return subject.key == key
    return subject.prefix is None or key.startswith(subject.prefix)


def _crash(
    client: SyncPrefectClient, flow_run_id: UUID, entry: SubmittedTask, message: str
) -> None:
    run = _read(client, entry.task_run_id)
    if run is None:
        client.create_task_run(
            task=entry.task,
            flow_run_id=flow_run_id,
            dynamic_key=str(entry.task_run_id),
            id=entry.task_run_id,
            name=f"{entry.task.name}-{str(entry.task_run_id)[:3]}",
        )
    elif run.state is not None and run.state.is_final() and entry.message is None:
        return
    client.set_task_run_state(entry.task_run_id, Crashed(message=message), force=True)
    entry.message = message


def _read(client: SyncPrefectClient, task_run_id: UUID) -> TaskRun | None:
    try:
        return client.read_task_run(task_run_id)
    except ObjectNotFound:
        return None
    except Exception as error:
        # Which of the two comes depends on the version of Prefect.
        if getattr(getattr(error, "response", None), "status_code", None) == 404:  # noqa: PLR2004
            return None
        raise


def _unfinished(client: SyncPrefectClient, ids: Sequence[UUID]) -> Iterator[TaskRun]:
    for start in range(0, len(ids), _PAGE):
        wanted: Any = {"id": {"any_": list(ids[start : start + _PAGE])}}
        runs = client.read_task_runs(
            task_run_filter=TaskRunFilter.model_validate(wanted), limit=_PAGE
        )
        yield from (run for run in runs if run.state and not run.state.is_final())
