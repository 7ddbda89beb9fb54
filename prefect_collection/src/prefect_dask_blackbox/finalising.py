"""The finaliser of last resort: a flow run whose process is gone, and nobody else noticed.

The recorder outlives the flow's process.  It knows the flow run and its task runs, and
when the card is final it sets what is still running, puts the card on the page, and emits
the event.  Prefect's own runner may be about to do the same: it is waited for first, and
what it did is left as it is.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from typing import Any
from uuid import UUID

from dask_blackbox.attach import RunCard
from dask_blackbox.events import TaskNamed
from dask_blackbox.guard import guard
from dask_blackbox.manifest import Manifest
from prefect.client.orchestration import SyncPrefectClient
from prefect.client.schemas.filters import FlowRunFilter
from prefect.client.schemas.objects import FlowRun, State, TaskRun
from prefect.exceptions import ObjectNotFound
from prefect.states import Cancelled, Crashed

from prefect_dask_blackbox.artifacts import FlowRunPage
from prefect_dask_blackbox.diagnosed import emit_diagnosed, tag_cause
from prefect_dask_blackbox.identity import prefect_client
from prefect_dask_blackbox.settling import FinalState, settle

__all__ = ["finalise", "finalise_run"]

_OTHERS = 15.0
"""Seconds in which Prefect's runner may notice by itself; it takes up to ten."""
_PAGE = 200


def finalise(manifest: Manifest, card: RunCard, tasks: Sequence[TaskNamed]) -> None:
    """Set a flow run and its task runs right whose process went away without a word.

    Args:
        manifest: Who the run is.
        card: Its final card.
        tasks: What Prefect calls its tasks.
    """
    finalise_run(manifest.host, card, tasks, patience=_OTHERS)


def finalise_run(
    host: Mapping[str, Any],
    card: RunCard,
    tasks: Sequence[TaskNamed],
    *,
    patience: float = 0.0,
) -> bool:
    """Do as `finalise` does.

    Args:
        host: Of the run's manifest.
        card: Its final card.
        tasks: What Prefect calls its tasks.
        patience: Seconds to wait for somebody else to end the flow run.

    Returns:
        Whether there was something to set right.
    """
    flow_run_id = UUID(str(host["flow_run_id"]))
    changed = False
    with prefect_client() as client:
        run = _ended(client, flow_run_id, patience)
        if run is None or run.run_count > card.attempt:
            return False  # deleted; or tried again meanwhile
        if run.state is None or not run.state.is_final():
            stopping = run.state is not None and run.state.is_cancelling()
            state: State[Any] = Crashed(message=card.headline)
            if stopping:
                state = Cancelled(message=f"Cancelled. {card.headline}")
            client.set_flow_run_state(flow_run_id, state, force=True)
            changed = True
            run = client.read_flow_run(flow_run_id)
        if run.state is not None and not run.state.is_completed():
            finals = list(_finals(client, run, card, tasks))
            changed = bool(settle(client, flow_run_id, finals)) or changed
    page = FlowRunPage(flow_run_id, str(host.get("flow_name", "flow")))
    noted = page.find(card.attempt)
    if noted is None or noted.get("state") == "running":
        page.show(card)
        with guard("the tag that names the cause"):
            tag_cause(card, run)
        with guard("the event with the verdict"):
            emit_diagnosed(card, flow_run_id)
        changed = True
    return changed


def _ended(
    client: SyncPrefectClient, flow_run_id: UUID, patience: float
) -> FlowRun | None:
    """Return a flow run once it has ended, or as it is when waiting longer is no use."""
    deadline = time.monotonic() + patience
    while True:
        try:
            run = client.read_flow_run(flow_run_id)
        except ObjectNotFound:
            return None
        ended = run.state is not None and run.state.is_final()
        if ended or time.monotonic() > deadline:
            return run
        time.sleep(0.5)


def _finals(
    client: SyncPrefectClient, run: FlowRun, card: RunCard, tasks: Sequence[TaskNamed]
) -> Iterator[FinalState]:
    """Yield what becomes of the task runs that have not ended, and never will."""
    unfinished = {each.id: each.name for each in _unfinished(client, run.id)}
    there = set(_all(client, run.id))
    named: dict[UUID, TaskNamed] = {}
    for each in tasks:
        if each.id and (each.name or UUID(each.id) not in named):
            named[UUID(each.id)] = each
    lost = card.verdict.subject.key if card.verdict is not None else None
    for identity in [*unfinished, *(named.keys() - there)]:
        task = named.get(identity)
        if task is not None and task.subject == lost and card.verdict is not None:
            text = f"Lost: {card.verdict.title}. {card.verdict.cause}"
        else:
            text = f"Stopped with the flow run before it was done. {card.headline}"
        state: State[Any] = Crashed(message=text)
        if run.state is not None and run.state.is_cancelled():
            state = Cancelled(message="The flow run was cancelled.")
        name = (task.name if task is not None else "") or unfinished.get(identity, "")
        name = name or f"{_prefix(task)}-{str(identity)[:3]}"
        yield FinalState(
            id=identity,
            name=name,
            task_key=name.rpartition("-")[0] or name,
            state=state,
        )


def _prefix(task: TaskNamed | None) -> str:
    """Return what Dask calls tasks of a kind, which is the name of Prefect's task."""
    return "task" if task is None else task.subject.rpartition("-")[0]


def _all(client: SyncPrefectClient, flow_run_id: UUID) -> Iterator[UUID]:
    yield from (run.id for run in _task_runs(client, flow_run_id))


def _unfinished(client: SyncPrefectClient, flow_run_id: UUID) -> Iterator[TaskRun]:
    for run in _task_runs(client, flow_run_id):
        if run.state is None or not run.state.is_final():
            yield run


def _task_runs(client: SyncPrefectClient, flow_run_id: UUID) -> Iterator[TaskRun]:
    mine = FlowRunFilter.model_validate({"id": {"any_": [flow_run_id]}})
    offset = 0
    while True:
        runs = client.read_task_runs(flow_run_filter=mine, limit=_PAGE, offset=offset)
        yield from runs
        if len(runs) < _PAGE:
            return
        offset += _PAGE
