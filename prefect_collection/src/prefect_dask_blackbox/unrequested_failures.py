"""Failed tasks whose results the flow did not request, and that made other tasks fail.

A task that waits for a failed one never begins, and Prefect tells the flow no more than
that it is `PENDING`.  The server knows which task runs failed; the exception is in the
state that lies on the cluster as the task's result.

Prefect sends states of task runs as events over a websocket, and loses those for which it
cannot connect at once; log lines are requests.  So a task run that has no state yet may have
failed according to its log.
"""

from __future__ import annotations

import ast
import logging
import re
import time
from collections.abc import Mapping, Sequence
from traceback import walk_tb
from typing import Any
from uuid import UUID

from dask_blackbox.errors import chained
from dask_blackbox.guard import guard
from dask_blackbox.patterns import bounded
from distributed import Client, Future
from prefect.client.orchestration import SyncPrefectClient
from prefect.client.schemas.filters import FlowRunFilter, LogFilter, TaskRunFilter
from prefect.client.schemas.objects import State, StateType
from prefect.client.schemas.sorting import LogSort
from prefect.exceptions import UnfinishedRun

from prefect_dask_blackbox.final_states import read_runs
from prefect_dask_blackbox.identity import prefect_client
from prefect_dask_blackbox.submitted_tasks import Ledger, SubmittedTask

__all__ = [
    "ask_for_blocker",
    "ask_for_failed",
    "blocker_elsewhere",
    "fill_in",
    "is_unfinished_run",
    "raised_by",
]

_SETTLING = 20.0
"""Seconds in which the state of a failed task may still reach Prefect's database.

Usually far less; where the connection for events was refused, it never does."""
_SOON = 3.0
"""Seconds after which a line in a task run's log counts, too."""
_MOST = 200
_MOST_STATES = 5
"""Of those that are read from the cluster, with their exceptions."""
_LONGEST_TEXT = 200
_ENGINE = "/prefect/task_engine.py"
_LOGGED = bounded(
    r"Finished in state (?P<name>Failed|TimedOut|Crashed)"
    r"\((?P<message>'(?:[^'\\]|\\.)*'|\"(?:[^\"\\]|\\.)*\")",
    re.DOTALL,
)
"""What Prefect's engine logs of a task run's final state."""
# Prefect 3.4 requires both parts of the filter of a state, also one that is not used.
_FAILED: dict[str, object] = {
    "state": {"type": {"any_": ["FAILED", "CRASHED"]}, "name": None}
}
_TIMEOUT = "2s"
_ENDED = {"finished", "cancelled"}
"""To a client, a task whose future nobody holds is cancelled, though others need it."""


def is_unfinished_run(error: BaseException | None) -> bool:
    """Return whether an exception reports only that a task did not start, not why."""
    return isinstance(error, UnfinishedRun)


def ask_for_failed(
    ledger: Ledger,
    client: Client | None,
    *,
    wait: bool = True,
    of_completed: bool = False,
) -> None:
    """Fill in the states of tasks that failed and that the flow did not request.

    Args:
        ledger: What the flow submitted.
        client: Of the cluster that holds their results.
        wait: One has failed, which the server may not know yet.
        of_completed: The flow run completed although some failed: of all of them, and
            from the server alone.
    """
    settling = _SETTLING if wait else 0.0
    if of_completed:
        settling = _SOON
    entries = {
        entry.task_run_id: entry
        for entry in ledger
        # Of any status: one that had failed may be running again on another worker.
        if entry.state is None and not entry.lost
    }
    if not entries or client is None:
        return
    with guard("the states of failed tasks that were not requested"):
        wanted: object = {**_FAILED, "id": {"any_": list(entries)[:_MOST]}}
        with prefect_client() as prefect:
            failed = _failed(
                prefect,
                settling,
                [*entries],
                task_run_filter=TaskRunFilter.model_validate(wanted),
            )
        first = sorted(failed.items(), key=lambda each: each[1].timestamp)
        for number, (identity, state) in enumerate(first[:_MOST]):
            entry = entries[identity]
            # Where workers died, it may have been lost with one of them.
            there = wait and not of_completed and entry.status in _ENDED
            there = there and number < _MOST_STATES
            entry.state = (_result_of(entry, client) if there else None) or state
        if failed:
            _ask_for_waiting(ledger, entries, settling)


def _ask_for_waiting(
    ledger: Ledger, entries: Mapping[UUID, SubmittedTask], settling: float
) -> None:
    """Fill in the states of those that did not begin, up to the task that failed.

    The flow knows of the last one of a chain only, which names the one before it.
    """
    wanted: Any = {"name": {"any_": ["NotReady"]}, "type": None}
    wanted = {"state": wanted, "id": {"any_": list(entries)[:_MOST]}}
    deadline = time.monotonic() + settling
    with prefect_client() as prefect:
        while True:
            for run in prefect.read_task_runs(
                task_run_filter=TaskRunFilter.model_validate(wanted), limit=_MOST
            ):
                entries[run.id].state = run.state
            blockers = [ledger.blocker_of(each) for each in ledger]
            known = all(each is None or each.state is not None for each in blockers)
            if known or time.monotonic() > deadline:
                return
            time.sleep(0.25)


def ask_for_blocker(ledger: Ledger, entry: SubmittedTask, client: Client) -> None:
    """Fill in the states of the tasks for which Prefect never ran one.

    From the cluster, and from the server where the flow kept no future of them.
    """
    deadline = time.monotonic() + _SOON
    for _ in range(_MOST):
        blocker = ledger.blocker_of(entry)
        if blocker is None or blocker.state is not None:
            return
        blocker.state = _result_of(blocker, client) or _state_of(blocker, deadline)
        if blocker.state is None:
            return


def raised_by(ledger: Ledger, error: BaseException | None) -> SubmittedTask | None:
    """Return the task of a subflow that nobody observes that raised an exception.

    Args:
        ledger: What the flow run and its subflows submitted.
        error: What the flow run got.

    Returns:
        The task, with its state; None if no such task raised it.
    """
    raised = next((each for each in chained(error) if _is_of_task(each)), None)
    if raised is None or not ledger.others:
        return None
    text = f"{type(raised).__name__}: {raised}"[:_LONGEST_TEXT]
    with guard("the task that an exception comes from"), prefect_client() as prefect:
        own: Any = {"id": {"any_": list(ledger.other_flow_runs)}}
        failed = _failed(
            prefect,
            _SETTLING,
            flow_run_filter=FlowRunFilter.model_validate(own),
            task_run_filter=TaskRunFilter.model_validate(_FAILED),
        )
        for identity, state in failed.items():
            entry = ledger.others.get(identity)
            if entry is not None and text in (state.message or ""):
                run = read_runs(prefect, [identity])[identity]
                entry.name, entry.named, entry.state = run.name, True, state
                return entry
    return None


def blocker_elsewhere(ledger: Ledger) -> SubmittedTask | None:
    """Return the task of a subflow that nobody observes for which others never ran, if there is one.

    Of several, the first that failed. Its state is filled in, and so are theirs.

    Args:
        ledger: What the flow run and its subflows submitted.
    """
    if not ledger.others:
        return None
    blockers: list[SubmittedTask] = []
    with guard("the task that others waited for"), prefect_client() as prefect:
        own: Any = {"id": {"any_": list(ledger.other_flow_runs)[:_MOST]}}
        flow_runs = FlowRunFilter.model_validate(own)
        failed = _failed(
            prefect,
            _SETTLING,
            [*ledger.others],
            flow_run_filter=flow_runs,
            task_run_filter=TaskRunFilter.model_validate(_FAILED),
        )
        deadline = time.monotonic() + _SOON
        while failed:
            waiting = _not_ready(prefect, flow_runs)
            entries = _filled_in(ledger, {**failed, **waiting})
            awaited = {each.blocked_by for each in entries}
            blockers = [e for e in entries if e.task_run_id in awaited & failed.keys()]
            if blockers or time.monotonic() > deadline:
                break
            time.sleep(0.25)
        fill_in(prefect, [e for e in ledger.others.values() if e.state is not None])
    return min(blockers, key=_ended_at, default=None)


def fill_in(prefect: SyncPrefectClient, entries: Sequence[SubmittedTask]) -> None:
    """Fill in the names and states that the server has of tasks."""
    runs = read_runs(prefect, [each.task_run_id for each in entries])
    for each in entries:
        if (run := runs.get(each.task_run_id)) is not None:
            each.name, each.named = run.name, True
            each.state = run.state or each.state


def _not_ready(
    prefect: SyncPrefectClient, flow_runs: FlowRunFilter
) -> dict[UUID, State[Any]]:
    """Return the states of task runs that Prefect did not run, because others had not completed."""
    wanted: Any = {"state": {"name": {"any_": ["NotReady"]}, "type": None}}
    runs = prefect.read_task_runs(
        flow_run_filter=flow_runs,
        task_run_filter=TaskRunFilter.model_validate(wanted),
        limit=_MOST,
    )
    return {run.id: run.state for run in runs if run.state is not None}


def _filled_in(
    ledger: Ledger, states: Mapping[UUID, State[Any]]
) -> list[SubmittedTask]:
    """Fill in states of tasks of subflows, and return these tasks."""
    entries = [ledger.others[i] for i in states if i in ledger.others]
    for each in entries:
        each.state = states[each.task_run_id]
    return entries


def _ended_at(entry: SubmittedTask) -> float:
    return 0.0 if entry.state is None else entry.state.timestamp.timestamp()


def _is_of_task(error: BaseException) -> bool:
    """Return whether an exception went through the code of Prefect's that calls tasks."""
    frames = walk_tb(error.__traceback__)
    return any(_ENGINE in frame.f_code.co_filename for frame, _ in frames)


def _failed(
    prefect: SyncPrefectClient,
    settling: float,
    identities: Sequence[UUID] = (),
    **wanted: Any,
) -> dict[UUID, State[Any]]:
    """Return the states of task runs that failed, once there is one, or none after a time.

    Args:
        prefect: Of Prefect's API.
        settling: Seconds to wait for the first one.
        identities: Of task runs whose logs are asked, too, where no state comes soon.
        wanted: Filters of the states.
    """
    began = time.monotonic()
    while True:
        runs = prefect.read_task_runs(**wanted, limit=_MOST)
        failed = {run.id: run.state for run in runs if run.state is not None}
        waited = time.monotonic() - began
        if not failed and identities and waited > _SOON:
            failed = _logged(prefect, identities)
        if failed or waited > settling:
            return failed
        time.sleep(0.25)


def _logged(
    prefect: SyncPrefectClient, identities: Sequence[UUID]
) -> dict[UUID, State[Any]]:
    """Return the states of the task runs that failed according to their logs."""
    wanted: Any = {
        "task_run_id": {"any_": list(identities)[:_MOST]},
        "level": {"ge_": logging.ERROR},
    }
    lines = prefect.read_logs(
        LogFilter.model_validate(wanted), limit=_MOST, sort=LogSort.TIMESTAMP_ASC
    )
    found = dict[UUID, State[Any]]()
    for line in lines:
        match = _LOGGED.match(line.message)
        if match is not None and line.task_run_id is not None:
            crashed = match["name"] == "Crashed"
            found[line.task_run_id] = State(
                type=StateType.CRASHED if crashed else StateType.FAILED,
                name=match["name"],
                message=ast.literal_eval(match["message"]),
                timestamp=line.timestamp,
            )
    return found


def _state_of(entry: SubmittedTask, deadline: float) -> State[Any] | None:
    """Return the state for which others never ran, if the server has it by then."""
    wanted = TaskRunFilter.model_validate({"id": {"any_": [entry.task_run_id]}})
    found: State[Any] | None = None
    with guard("the state of a failed task"), prefect_client() as prefect:
        while found is None and time.monotonic() < deadline:
            for run in prefect.read_task_runs(task_run_filter=wanted):
                if run.state and (run.state.is_final() or run.state.name == "NotReady"):
                    found = run.state
            if found is None:
                time.sleep(0.25)
    return found


def _result_of(entry: SubmittedTask, client: Client) -> State[Any] | None:
    """Return the state that a task gave as its result, while the flow still holds it."""
    if entry.key not in client.futures:
        return None
    found: Any = None
    with guard("the state of a failed task"):
        found = Future(entry.key, client=client).result(timeout=_TIMEOUT)
    return found if isinstance(found, State) else None
