"""One message about a DAG run: its failed tasks by cause, and what cannot run because of them.

The callbacks of a DAG run in Airflow's DAG processor, those of a deadline in its triggerer.
Neither has Airflow's database: what they may ask is the states of tasks and single XComs.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from dask_blackbox.guard import guard

from airflow_dask_blackbox.addresses import TaskKey, runs_of
from airflow_dask_blackbox.causes import Cause, advice_on, cause_of_all
from airflow_dask_blackbox.links import RECORDING_KEY
from airflow_dask_blackbox.notifications.card_message import CardMessage, composed

if TYPE_CHECKING:
    # The real one needs msgspec only, but it is needed in tasks only, too.
    from dask_blackbox import RunCard

__all__ = ["is_about_dag_run", "message_of_run"]

_FAILED: Final = "failed"
_BLOCKED: Final = "upstream_failed"
_MOST_ASKED: Final = 500
_TIMEOUT: Final = 30.0
"""Seconds for finding out why tasks failed; those that are left count as unknown."""
_MOST_CAUSES: Final = 10
_MOST_NAMES: Final = 12
_MOST_REMEDIES: Final = 3
_MOST_LINES: Final = 6

_UNRECORDED: Final = "no recording says why"


class _FailedTask(NamedTuple):
    """A task instance that failed.

    Attributes:
        key: Which.
        label: What Airflow's pages call it.
        cause: Why; None: not known.
    """

    key: TaskKey
    label: str
    cause: Cause | None


class _Group(NamedTuple):
    """Tasks that failed of one cause.

    Attributes:
        cause: Of the first of them, with the title of all; None: not known.
        tasks: Which.
        blocked: Tasks that cannot run because of them.
        assets: That are not updated because of them.
    """

    cause: Cause | None
    tasks: tuple[_FailedTask, ...]
    blocked: tuple[str, ...]
    assets: tuple[str, ...]


def is_about_dag_run(context: Mapping[str, Any]) -> bool:
    """Return whether Airflow calls a notifier for a DAG run, and not for a task.

    The context of a DAG's callback has a reason, whether or not it also has the last task that
    failed; that of a deadline has no task.
    """
    return "ti" not in context or "reason" in context


def message_of_run(context: Mapping[str, Any]) -> CardMessage:
    """Return the message on the DAG run of a context."""
    dag_id, run_id = _run_of(context)
    states: dict[str, str] | None = None
    failed: list[_FailedTask] = []
    groups: list[_Group] = []
    with guard("the states of a DAG run's tasks"):
        states = _states(dag_id, run_id)
        failed = list(_failed(dag_id, run_id, states or {}, context.get("dag")))
    with guard("grouping the failed tasks of a DAG run"):
        groups = _grouped(failed, context.get("dag"), states or {})
    return composed(
        about=dag_id,
        outcome=_outcome(states, failed, groups, context.get("reason")),
        facts=[("DAG run", run_id), *_facts(groups)],
        url=runs_of(dag_id, run_id),
        button="Open its Dask runs",
        failed=bool(failed) or states is None or context.get("reason") != "success",
    )


def _run_of(context: Mapping[str, Any]) -> tuple[str, str]:
    """Return DAG and run of a context: Airflow's minimal ones lack one or the other."""
    run = context.get("dag_run")
    of_run = run if isinstance(run, Mapping) else vars(run) if run is not None else {}
    dag_id = of_run.get("dag_id") or getattr(context.get("dag"), "dag_id", "")
    run_id = (
        context.get("run_id") or of_run.get("dag_run_id") or of_run.get("run_id", "")
    )
    return str(dag_id), str(run_id)


def _states(dag_id: str, run_id: str) -> dict[str, str] | None:
    """Return Airflow's words for all task instances; mapped ones end in `_<index>`.

    None where nobody can be asked: `dag.test()` calls a DAG's callbacks without a supervisor.
    """
    from airflow.sdk.execution_time import task_runner

    if not hasattr(task_runner, "SUPERVISOR_COMMS"):
        return None
    states = task_runner.RuntimeTaskInstance.get_task_states(
        dag_id=dag_id, run_ids=[run_id]
    )
    return {name: state or "" for name, state in states.get(run_id, {}).items()}


def _failed(
    dag_id: str, run_id: str, states: Mapping[str, str], dag: Any
) -> Iterator[_FailedTask]:
    deadline = time.monotonic() + _TIMEOUT
    names = [name for name, state in sorted(states.items()) if state == _FAILED]
    for number, name in enumerate(sorted(names, key=_natural)):
        task_id, index = _instance(name, dag)
        key = TaskKey(dag_id, run_id, task_id, index)
        said: Mapping[str, Any] = {}
        if number < _MOST_ASKED and time.monotonic() < deadline:
            with guard("what a task says of its recording"):
                said = _announced(key)
        label = str(said.get("label") or index)
        shown = task_id if index < 0 else f"{task_id} [{label}]"
        yield _FailedTask(key, shown, _cause(key, said, dag, deadline))


def _natural(name: str) -> tuple[str, int]:
    task, _, index = name.rpartition("_")
    return (task, int(index)) if index.isdigit() else (name, -1)


def _instance(name: str, dag: Any) -> tuple[str, int]:
    """Return task and map index of a name: `load_3` may be a task, or the fourth `load`."""
    known = getattr(dag, "task_dict", None)
    task, _, index = name.rpartition("_")
    if not index.isdigit() or (known is not None and name in known):
        return name, -1
    if known is not None and task not in known:
        return name, -1
    return task, int(index)


def _announced(key: TaskKey) -> Mapping[str, Any]:
    from airflow.sdk.execution_time.xcom import XCom

    said = XCom.get_one(
        key=RECORDING_KEY,
        dag_id=key.dag_id,
        run_id=key.run_id,
        task_id=key.task_id,
        map_index=key.map_index,
    )
    return said if isinstance(said, Mapping) else {}


def _cause(
    key: TaskKey, said: Mapping[str, Any], dag: Any, deadline: float
) -> Cause | None:
    """Return why a task failed: as it says, or as its recorder does, if it was killed."""
    known = Cause.announced(said.get("cause"))
    if known is not None or time.monotonic() > deadline:
        return known
    if said.get("problem") and said.get("kept") != "spool":
        return Cause("unrecorded", f"Not recorded: {said['problem']}")
    from airflow_dask_blackbox.retries import newest_card

    task = getattr(dag, "task_dict", {}).get(key.task_id)
    card: RunCard | None = None
    with guard("the card of a task that failed"):
        card = newest_card(key, said, task)
    return None if card is None else Cause.of(card)


def _grouped(
    failed: Iterable[_FailedTask], dag: Any, states: Mapping[str, str]
) -> list[_Group]:
    """Return failed tasks by cause, the largest group first and the unknown ones last."""
    by_cause: dict[tuple[str, str] | None, list[_FailedTask]] = {}
    for each in failed:
        by_cause.setdefault(each.cause.key if each.cause else None, []).append(each)
    found = [
        _Group(_cause_of(tasks), tuple(tasks), *_consequences(tasks, dag, states))
        for tasks in by_cause.values()
    ]
    return sorted(found, key=lambda each: (each.cause is None, -len(each.tasks)))


def _cause_of(failed: Sequence[_FailedTask]) -> Cause | None:
    known = [each.cause for each in failed if each.cause is not None]
    return cause_of_all(known) if known else None


def _consequences(
    failed: Sequence[_FailedTask], dag: Any, states: Mapping[str, str]
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the tasks that cannot run because of others, and the assets not updated."""
    tasks: Mapping[str, Any] = getattr(dag, "task_dict", {})
    waiting = {_instance(name, dag)[0] for name, s in states.items() if s == _BLOCKED}
    causes = dict.fromkeys(each.key.task_id for each in failed)
    blocked: dict[str, None] = {}
    for task_id in causes:
        if task_id in tasks:
            below = tasks[task_id].get_flat_relative_ids(upstream=False)
            blocked |= dict.fromkeys(sorted(waiting.intersection(below)))
    assets = (
        str(getattr(asset, "uri", None) or getattr(asset, "name", ""))
        for task_id in (*causes, *blocked)
        for asset in getattr(tasks.get(task_id), "outlets", None) or ()
    )
    return tuple(blocked), tuple(dict.fromkeys(each for each in assets if each))


def _outcome(
    states: Mapping[str, str] | None,
    failed: Sequence[_FailedTask],
    groups: Sequence[_Group],
    reason: object,
) -> str:
    """Return the line to read: how many tasks failed, and of how many causes."""
    if states is None:
        return f"{_reason(reason)}; the states of its tasks are unknown here"
    if not failed:
        return _reason(reason)
    known = [each for each in groups if each.cause is not None]
    of = f"{len(failed)} of {_count(len(states), 'task')} failed"
    if len(groups) == 1 and known and known[0].cause is not None:
        return f"{of}: {known[0].cause.title}"
    return f"{of}, {_count(len(known), 'cause')}" if known else f"{of}; {_UNRECORDED}"


def _reason(reason: object) -> str:
    if reason == "success":
        return "succeeded"
    return f"failed ({reason})" if reason else "is late"


def _facts(groups: Sequence[_Group]) -> Iterator[tuple[str, str]]:
    for group in groups[:_MOST_CAUSES]:
        cause = group.cause
        lines = [cause.title if cause is not None else f"Unknown: {_UNRECORDED}"]
        lines.extend(_what_to_do(group))
        if cause is not None and cause.times == 1:
            lines.append("The first failure of its kind")
        lines.append(f"Tasks: {_names([each.label for each in group.tasks])}")
        if group.blocked:
            lines.append(f"Cannot run because of it: {_names(group.blocked)}")
        if group.assets:
            lines.append(f"Assets not updated: {_names(group.assets)}")
        yield _count(len(group.tasks), "task"), "\n".join(lines)
    if more := groups[_MOST_CAUSES:]:
        tasks = sum(len(each.tasks) for each in more)
        yield (
            "More",
            f"{_count(len(more), 'other cause')} of {_count(tasks, 'task')}",
        )


def _what_to_do(group: _Group) -> Iterator[str]:
    remedies, lines, differs = advice_on(
        (each.key.task_id, each.label, each.cause)
        for each in group.tasks
        if each.cause is not None
    )
    for text, names in remedies[:_MOST_REMEDIES]:
        of = f" about {_names(names)}" if len(remedies) > 1 else ""
        yield f"What to do{of}: {text}"
    if len(remedies) > _MOST_REMEDIES:
        yield "What to do about the others is on their pages"
    yield from lines[:_MOST_LINES]
    if differs or len(lines) > _MOST_LINES:
        more = [*differs, *(["other tasks"] if len(lines) > _MOST_LINES else [])]
        yield f"What to paste for {_names(more)} is on the page of each failure"


def _names(names: Sequence[str]) -> str:
    left = len(names) - _MOST_NAMES
    more = f" and {left} more" if left > 0 else ""
    return ", ".join(names[:_MOST_NAMES]) + more


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}{'' if number == 1 else 's'}"
