"""Sets final states of task runs that would stay unfinished: many at once, with one client."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from typing import Any, cast
from uuid import UUID

from dask_blackbox.formatting import plain
from dask_blackbox.guard import guard
from prefect.client.orchestration import SyncPrefectClient
from prefect.client.schemas.actions import LogCreate, TaskRunCreate
from prefect.client.schemas.filters import TaskRunFilter
from prefect.client.schemas.objects import TERMINAL_STATES, State, TaskRun
from prefect.events.schemas.events import Event
from prefect.states import to_state_create
from prefect.types._datetime import now

from prefect_dask_blackbox.outgoing import outgoing, outgoing_state

__all__ = ["FinalState", "error_line", "read_runs", "settle"]

_AT_ONCE = 8
_PAGE = 200
_RECORDED_WITHIN = 8.0
"""Seconds for the server to record states that it was sent as events."""
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
        if_completed: What a run that has completed becomes; None: it stays so.
    """

    id: UUID
    name: str
    task_key: str
    state: State[object]
    rename: bool = False
    log: bool = True
    again: bool = False
    if_completed: State[object] | None = None


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
    due = _those(_is_due, finals, runs)
    reported = _those(_is_reported, finals, runs)
    done: list[FinalState] = []
    missing = [final for final in due if final.id not in runs]
    if len(missing) > _AT_ONCE:
        with guard("creating many task runs"):
            runs = {**runs, **_create_all(client, flow_run_id, missing)}
            done = [each for each in missing if _has(runs.get(each.id), each.state)]
    # Those that have ended by themselves meanwhile keep their states.
    if rest := _those(_is_due, due, runs):
        work = partial(_set, client, flow_run_id, runs)
        with ThreadPoolExecutor(min(_AT_ONCE, len(rest))) as pool:
            ends = zip(rest, pool.map(work, rest), strict=True)
            done += [final for final, ok in ends if ok]
    with guard("the logs of lost task runs"):
        if lines := list(_lines(flow_run_id, [*done, *reported])):
            client.create_logs(lines)
    return len(done)


def _those(
    fits: Callable[[FinalState, TaskRun | None], bool],
    finals: Sequence[FinalState],
    runs: Mapping[UUID, TaskRun],
) -> list[FinalState]:
    return [final for final in finals if fits(final, runs.get(final.id))]


def read_runs(client: SyncPrefectClient, ids: Sequence[UUID]) -> dict[UUID, TaskRun]:
    """Return the task runs that there are, by id."""
    found: dict[UUID, TaskRun] = {}
    for start in range(0, len(ids), _PAGE):
        wanted: object = {"id": {"any_": list(ids[start : start + _PAGE])}}
        runs = client.read_task_runs(
            task_run_filter=TaskRunFilter.model_validate(wanted), limit=_PAGE
        )
        found.update((run.id, run) for run in runs)
    return found


def _is_due(final: FinalState, run: TaskRun | None) -> bool:
    if run is None or run.state is None or not run.state.is_final():
        return True
    if run.state.is_completed():
        return final.if_completed is not None
    return final.again and run.state.message != final.state.message


def _is_reported(final: FinalState, run: TaskRun | None) -> bool:
    """Return whether a run has that state already, and only its log lacks the message."""
    state = None if run is None else run.state
    return final.again and state is not None and state.message == final.state.message


def _create_all(
    client: SyncPrefectClient, flow_run_id: UUID, finals: Sequence[FinalState]
) -> dict[UUID, TaskRun]:
    """Create task runs by events, as Prefect's engine does; return those that there are.

    The server records events many at a time, while a request creates one task run, in two
    steps.  Of those that exist, a request each costs it no more than an event.
    """
    for part in _pages(finals):
        events = [_event(flow_run_id, final) for final in part]
        body = [event.model_dump(mode="json") for event in events]
        client.request("POST", "/events", json=body).raise_for_status()
    deadline = time.monotonic() + _RECORDED_WITHIN
    while _count_ended(client, finals) < len(finals) and time.monotonic() < deadline:
        time.sleep(0.25)
    return read_runs(client, [final.id for final in finals])


def _has(run: TaskRun | None, state: State[object]) -> bool:
    return run is not None and run.state is not None and run.state.id == state.id


def _count_ended(client: SyncPrefectClient, finals: Sequence[FinalState]) -> int:
    ended = {"type": {"any_": [each.value for each in TERMINAL_STATES]}}
    count = 0
    for part in _pages(finals):
        wanted = {"id": {"any_": [str(final.id) for final in part]}, "state": ended}
        answer = client.request("POST", "/task_runs/count", json={"task_runs": wanted})
        count += int(answer.raise_for_status().json())
    return count


def _pages(finals: Sequence[FinalState]) -> Iterator[Sequence[FinalState]]:
    for start in range(0, len(finals), _PAGE):
        yield finals[start : start + _PAGE]


def _event(flow_run_id: UUID, final: FinalState) -> Event:
    """Return the event with which Prefect's engine reports a state of a task run."""
    state = final.state
    known: dict[str, object] = {"type": state.type.value, "name": state.name}
    known["message"] = state.message
    return Event.model_validate(
        {
            "id": state.id,
            "occurred": state.timestamp,
            "event": f"prefect.task-run.{state.name}",
            "resource": {
                "prefect.resource.id": f"prefect.task-run.{final.id}",
                "prefect.resource.name": final.name,
                "prefect.run-count": "0",
                "prefect.state-message": state.message or "",
                "prefect.state-name": state.name or "",
                "prefect.state-timestamp": state.timestamp.isoformat(),
                "prefect.state-type": state.type.value,
                "prefect.orchestration": "client",
            },
            "related": [
                {
                    "prefect.resource.id": f"prefect.flow-run.{flow_run_id}",
                    "prefect.resource.role": "flow-run",
                }
            ],
            "payload": {
                "intended": {"from": None, "to": state.type.value},
                "initial_state": None,
                "validated_state": {**known, "state_details": {}, "data": None},
                "task_run": {
                    "name": final.name,
                    "task_key": final.task_key,
                    "dynamic_key": str(final.id),
                },
            },
        }
    )


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
        known = runs[final.id]
        if final.rename and known.name != final.name:
            client.set_task_run_name(final.id, final.name)
        client.set_task_run_state(final.id, _state_for(final, known), force=True)
        done = True
    return done  # noqa: RET504 - the guard swallows errors


def _state_for(final: FinalState, run: TaskRun) -> State[object]:
    completed = run.state is not None and run.state.is_completed()
    chosen = final.if_completed if completed and final.if_completed else final.state
    return outgoing_state(chosen)


def _create(client: SyncPrefectClient, flow_run_id: UUID, final: FinalState) -> bool:
    wanted = TaskRunCreate(
        id=final.id,
        name=final.name,
        flow_run_id=flow_run_id,
        task_key=final.task_key,
        dynamic_key=str(final.id),
        state=to_state_create(outgoing_state(final.state)),
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
            yield error_line(flow_run_id, final.id, final.state.message)


def error_line(flow_run_id: UUID, task_run_id: UUID, text: str) -> LogCreate:
    """Return a line for the log of a task run."""
    return LogCreate(
        name=_LOGGER,
        level=logging.ERROR,
        message=" ".join(plain(outgoing(text)).split()),
        timestamp=cast("Any", now("UTC")),
        flow_run_id=flow_run_id,
        task_run_id=task_run_id,
    )
