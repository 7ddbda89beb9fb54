"""Final states for task runs that nobody else gives one: many at once, with one client."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from typing import Any, cast
from uuid import UUID

from dask_blackbox.guard import guard
from prefect.client.orchestration import SyncPrefectClient
from prefect.client.schemas.actions import LogCreate, TaskRunCreate
from prefect.client.schemas.filters import TaskRunFilter
from prefect.client.schemas.objects import State, TaskRun
from prefect.states import to_state_create
from prefect.types._datetime import now

__all__ = ["FinalState", "read_runs", "settle"]

_AT_ONCE = 8
_PAGE = 200
_LOGGER = "dask_blackbox"


@dataclass(frozen=True, kw_only=True)
class FinalState:
    """What a task run is to become.

    Attributes:
        id: Of the task run.
        name: What to call it, if it never came into being.
        task_key: Of its task, likewise.
        state: The state.
        rename: The user gave it that name, and its worker may have died with it.
        log: Put its message into its log.
        again: Set it though the run has a final state that we gave it before.
    """

    id: UUID
    name: str
    task_key: str
    state: State[Any]
    rename: bool = False
    log: bool = True
    again: bool = False


def settle(
    client: SyncPrefectClient,
    flow_run_id: UUID,
    finals: Sequence[FinalState],
    *,
    runs: Mapping[UUID, TaskRun] | None = None,
) -> int:
    """Set task runs that have no final state, and create those that never came into being.

    Each that ends badly gets its message as a line of its log, too: no page of Prefect
    shows the message of a task run's state.

    Args:
        client: Of Prefect's API.
        flow_run_id: Whose task runs they are.
        finals: What they are to become.
        runs: The task runs that there are, where they have just been read.

    Returns:
        How many were set.
    """
    if not finals:
        return 0
    if runs is None:
        runs = read_runs(client, [final.id for final in finals])
    due = [final for final in finals if _is_due(final, runs.get(final.id))]
    work = partial(_set, client, flow_run_id, runs)
    done: list[FinalState] = []
    if due:
        with ThreadPoolExecutor(min(_AT_ONCE, len(due))) as pool:
            ends = zip(due, pool.map(work, due), strict=True)
            done = [final for final, ok in ends if ok]
    reported = [final for final in finals if _is_reported(final, runs.get(final.id))]
    with guard("the logs of lost task runs"):
        if lines := list(_lines(flow_run_id, [*done, *reported])):
            client.create_logs(lines)
    return len(done)


def read_runs(client: SyncPrefectClient, ids: Sequence[UUID]) -> dict[UUID, TaskRun]:
    """Return the task runs that there are, by id."""
    found: dict[UUID, TaskRun] = {}
    for start in range(0, len(ids), _PAGE):
        wanted: Any = {"id": {"any_": list(ids[start : start + _PAGE])}}
        runs = client.read_task_runs(
            task_run_filter=TaskRunFilter.model_validate(wanted), limit=_PAGE
        )
        found.update((run.id, run) for run in runs)
    return found


def _is_due(final: FinalState, run: TaskRun | None) -> bool:
    if run is None or run.state is None or not run.state.is_final():
        return True
    return final.again and run.state.message != final.state.message


def _is_reported(final: FinalState, run: TaskRun | None) -> bool:
    """Say whether a run has that state already, and only its log lacks the message."""
    state = None if run is None else run.state
    return final.again and state is not None and state.message == final.state.message


def _set(
    client: SyncPrefectClient,
    flow_run_id: UUID,
    runs: Mapping[UUID, TaskRun],
    final: FinalState,
) -> bool:
    done = False
    with guard("the final state of a task run"):
        if final.id not in runs:
            return _create(client, flow_run_id, final)
        if final.rename and runs[final.id].name != final.name:
            client.set_task_run_name(final.id, final.name)
        client.set_task_run_state(final.id, final.state, force=True)
        done = True
    return done  # noqa: RET504 - the guard swallows errors


def _create(client: SyncPrefectClient, flow_run_id: UUID, final: FinalState) -> bool:
    wanted = TaskRunCreate(
        id=final.id,
        name=final.name,
        flow_run_id=flow_run_id,
        task_key=final.task_key,
        dynamic_key=str(final.id),
        state=to_state_create(final.state),
    )
    body = wanted.model_dump(
        mode="json", exclude={"state": {"data"}}, exclude_none=True
    )
    client.request("POST", "/task_runs/", json=body).raise_for_status()
    return True


def _lines(flow_run_id: UUID, finals: Iterable[FinalState]) -> Iterator[LogCreate]:
    for final in finals:
        bad = final.state.is_failed() or final.state.is_crashed()
        if final.log and bad and final.state.message:
            yield LogCreate(
                name=_LOGGER,
                level=logging.ERROR,
                message=final.state.message,
                timestamp=cast("Any", now("UTC")),
                flow_run_id=flow_run_id,
                task_run_id=final.id,
            )
