"""Finalises a flow run whose process is gone and that Prefect still calls running.

The recorder outlives the flow's process.  It knows the flow run and its task runs, and
when the card is final it puts that on the page, emits the event, and sets what is still
running.  Prefect's own runner may be about to do the same: it is waited for first, and
what it did is left as it is.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from uuid import UUID

import msgspec
import prefect.main  # noqa: F401 - it completes the classes of states, up to Prefect 3.4
from dask_blackbox.card import RunCard
from dask_blackbox.card_data import Overview
from dask_blackbox.events import TaskNamed
from dask_blackbox.guard import guard
from dask_blackbox.manifest import Manifest
from prefect.client.orchestration import SyncPrefectClient
from prefect.client.schemas.filters import FlowRunFilter
from prefect.client.schemas.objects import FlowRun, State, TaskRun
from prefect.exceptions import ObjectNotFound
from prefect.states import Cancelled, Crashed

from prefect_dask_blackbox.artifacts import FlowRunPage, key_of
from prefect_dask_blackbox.cancelling import cancel_message
from prefect_dask_blackbox.events import Affected, emit_diagnosed, tag_cause
from prefect_dask_blackbox.final_states import FinalState, settle
from prefect_dask_blackbox.identity import page_of, prefect_client
from prefect_dask_blackbox.job_page import show_job
from prefect_dask_blackbox.outgoing import outgoing_state
from prefect_dask_blackbox.page import TaskLine

__all__ = ["finalise", "finalise_run"]

_OTHERS = 15.0
"""Seconds in which Prefect's runner may notice by itself; it takes up to ten."""
_REQUEST = 60.0
"""Seconds that a request may take: no flow waits for it, and nobody else makes it."""
_PAGE = 200
_OF_THE_FLOW = frozenset({"driver-killed", "stopped-by-host"})


def finalise(
    manifest: Manifest,
    card: RunCard,
    tasks: Sequence[TaskNamed],
    overview: Overview | None,
) -> None:
    """Finalise a flow run whose process is gone; the recorder calls it.

    Args:
        manifest: Who the run is.
        card: Its final card.
        tasks: What Prefect calls its tasks.
        overview: The extremes of the run and its picture.
    """
    finalise_run(manifest.host, card, tasks, overview, timeout=_OTHERS)


def finalise_run(
    host: Mapping[str, object],
    card: RunCard,
    tasks: Sequence[TaskNamed],
    overview: Overview | None = None,
    *,
    timeout: float = 0.0,
    state: State[object] | None = None,
) -> bool:
    """Show a flow run's card, and give it and its task runs the states that they lack.

    The only way in which another process than the flow's own does so: the recorder,
    Prefect's runner by its hook, and `dask blackbox prefect finalise`.  What has a final
    state keeps it, so that whoever comes second finds nothing to do.

    The state of the flow run comes after these: who is notified of it finds them. The
    event with the verdict comes last, so that automations find the state.

    Args:
        host: Of the run's manifest.
        card: Its final card.
        tasks: What Prefect calls its tasks.
        overview: The extremes of the run and its picture.
        timeout: Seconds to wait for somebody else to end the flow run.
        state: What the flow run becomes if it has no final state and was not cancelled;
            None: crashed, with the headline of its card.

    Returns:
        Whether there was something to set right.

    Raises:
        Exception: the first failure of a part; all others were tried nevertheless.
    """
    flow_run_id = UUID(str(host["flow_run_id"]))
    flow_name = str(host.get("flow_name", "flow"))
    failures: list[Exception] = []

    def note(_doing: str, error: Exception) -> None:
        failures.append(error)

    with prefect_client(_REQUEST) as client:
        run = _ended(client, flow_run_id, timeout)
        if run is None:
            return False  # deleted
        again = run.run_count > card.attempt
        there: dict[UUID, TaskRun] = {}
        with guard("the task runs of a flow run that was killed", on_error=note):
            there = _runs_of_attempt(client, run, tasks, again=again)
        changed, shown, named = False, False, list(tasks)
        with guard("the card of a flow run that was killed", on_error=note):
            page = FlowRunPage(run.id, flow_name, client)
            named = _with_names(tasks, there)
            changed = shown = _show(
                client, run, page, card, overview=overview, tasks=named
            )
        with guard("the task runs of a flow run that was killed", on_error=note):
            if again or run.state is None or not run.state.is_completed():
                settled = _settle(client, run, card, tasks, there=there, again=again)
                changed = settled or changed
        if not again:  # else its state is the newer attempt's
            changed = _end(client, flow_run_id, card, state) or changed
        if shown:
            # After the state, which automations read, and the tag, which it is related to.
            with guard("the event with the verdict", on_error=note):
                hit = _hit(card, named, there)
                url = page.card_url
                emit_diagnosed(
                    card, run.id, client, affected=Affected(hit), card_url=url
                )
            with guard("the page of the job", on_error=note):
                show_job(flow_name, key_of(flow_name), client)
    if failures:
        raise failures[0]
    return changed


def _runs_of_attempt(
    client: SyncPrefectClient,
    run: FlowRun,
    tasks: Sequence[TaskNamed],
    *,
    again: bool,
) -> dict[UUID, TaskRun]:
    there = {each.id: each for each in _task_runs(client, run.id)}
    if not again:
        return there
    # The newer attempt has task runs of its own.
    mine = {UUID(each.id) for each in tasks if each.id}
    return {i: each for i, each in there.items() if i in mine}


def _end(
    client: SyncPrefectClient,
    flow_run_id: UUID,
    card: RunCard,
    state: State[object] | None,
) -> bool:
    """Give a flow run its last state, unless it has one."""
    run = client.read_flow_run(flow_run_id)
    if run.state is not None and (run.state.is_final() or _is_suspended(run)):
        return False
    if _is_cancelled(run):
        state = Cancelled(message=f"Cancelled. {card.headline}")
    state = state or Crashed(message=card.headline)
    client.set_flow_run_state(flow_run_id, outgoing_state(state), force=True)
    return True


def _show(
    client: SyncPrefectClient,
    run: FlowRun,
    page: FlowRunPage,
    card: RunCard,
    *,
    overview: Overview | None,
    tasks: Sequence[TaskNamed],
) -> bool:
    """Show the card and tag the flow run, unless somebody has."""
    noted = page.find(card.attempt)
    if noted is not None and noted.get("state") != "running":
        return False
    overview = overview or Overview()
    costs = {each.key for each in (*overview.slowest, *overview.largest)}
    known = {each.subject: each for each in tasks if each.id}
    page.show(
        card,
        names={key: _name_of(each) for key, each in known.items()},
        overview=overview,
        runs={key: _line_of(known[key]) for key in costs & known.keys()},
    )
    if run.run_count <= card.attempt:  # else the newer attempt may not have failed
        with guard("the tag that names the cause"):
            tag_cause(card, run, client, before=page.causes)
    return True


def _hit(
    card: RunCard, tasks: Sequence[TaskNamed], there: Mapping[UUID, TaskRun]
) -> dict[UUID, str]:
    """Return the names of the task runs that a run's end has hit, by id: the verdict's first."""
    about = card.verdict.subject.key if card.verdict is not None else None
    names = {UUID(each.id): _name_of(each) for each in tasks if each.id}
    names.update((identity, each.name) for identity, each in there.items())
    done = {i for i, each in there.items() if each.state and each.state.is_completed()}
    own = [UUID(each.id) for each in tasks if each.id and each.subject == about]
    return {i: names[i] for i in [*own, *names] if i in own or i not in done}


def _name_of(task: TaskNamed) -> str:
    return task.name or f"{_prefix(task)}-{task.id[:3]}"


def _line_of(task: TaskNamed) -> TaskLine:
    url = task.url or page_of("task-run", UUID(task.id))
    return TaskLine(name=_name_of(task), url=url)


def _with_names(
    tasks: Sequence[TaskNamed], there: Mapping[UUID, TaskRun]
) -> list[TaskNamed]:
    """Return the tasks with the names that Prefect has given to their task runs."""
    return [
        msgspec.structs.replace(each, name=there[UUID(each.id)].name)
        if each.id and UUID(each.id) in there
        else each
        for each in tasks
    ]


def _settle(
    client: SyncPrefectClient,
    run: FlowRun,
    card: RunCard,
    tasks: Sequence[TaskNamed],
    *,
    there: Mapping[UUID, TaskRun],
    again: bool,
) -> bool:
    """Settle task runs of a flow run, which may have been tried again meanwhile."""
    cancelled = None
    if not again and _is_cancelled(run):
        cancelled = cancel_message(client, run.id)
    finals = list(_finals(there, card, tasks, cancelled))
    return bool(settle(client, run.id, finals, runs=there))


def _is_suspended(run: FlowRun) -> bool:
    """Return whether it waits to be resumed, which needs no process; a pause needs one."""
    return run.state is not None and run.state.name == "Suspended"


def _is_cancelled(run: FlowRun) -> bool:
    state = run.state
    return state is not None and (state.is_cancelling() or state.is_cancelled())


def _ended(
    client: SyncPrefectClient, flow_run_id: UUID, timeout: float
) -> FlowRun | None:
    """Return a flow run once it has ended, or as it is when waiting longer is no use."""
    deadline = time.monotonic() + timeout
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
    there: Mapping[UUID, TaskRun],
    card: RunCard,
    tasks: Sequence[TaskNamed],
    cancelled: str | None,
) -> Iterator[FinalState]:
    """Yield what becomes of the task runs that have not ended, and never will."""
    unfinished = {
        identity: each.name
        for identity, each in there.items()
        if each.state is None or not each.state.is_final()
    }
    named = _named(tasks)
    for identity in [*unfinished, *(named.keys() - there.keys())]:
        task = named.get(identity)
        state: State[object] = Crashed(message=_message(card, task))
        if cancelled is not None:
            state = Cancelled(message=cancelled)
        name = (task.name if task is not None else "") or unfinished.get(identity, "")
        name = name or ("task" if task is None else _name_of(task))
        yield FinalState(
            id=identity,
            name=name,
            task_key=name.rpartition("-")[0] or name,
            state=state,
        )


def _named(tasks: Sequence[TaskNamed]) -> dict[UUID, TaskNamed]:
    """Return the last name of each task run."""
    named: dict[UUID, TaskNamed] = {}
    for each in tasks:
        if each.id and (each.name or UUID(each.id) not in named):
            named[UUID(each.id)] = each
    return named


def _message(card: RunCard, task: TaskNamed | None) -> str:
    """Return what became of a task that had not finished."""
    verdict = card.verdict
    stopped = f"Stopped with the flow run before it finished. {card.headline}"
    # What ended the flow itself names a task that was running, and did not lose it.
    if task is None or verdict is None or verdict.rule in _OF_THE_FLOW:
        return stopped
    lost = task.subject == verdict.subject.key
    return f"Lost: {verdict.title}. {verdict.cause}" if lost else stopped


def _prefix(task: TaskNamed) -> str:
    """Return what Dask calls tasks of a kind, which is the name of Prefect's task."""
    return task.subject.rpartition("-")[0]


def _task_runs(client: SyncPrefectClient, flow_run_id: UUID) -> Iterator[TaskRun]:
    mine = FlowRunFilter.model_validate({"id": {"any_": [flow_run_id]}})
    offset = 0
    while True:
        runs = client.read_task_runs(flow_run_filter=mine, limit=_PAGE, offset=offset)
        yield from runs
        if len(runs) < _PAGE:
            return
        offset += _PAGE
