"""What tasks ask of their workers (resources, a name, a host), and who had that."""

from __future__ import annotations

import ast
from difflib import get_close_matches

import polars as pl

from dask_blackbox.analyse.case import Case
from dask_blackbox.analyse.run_state import last_sign_of_life
from dask_blackbox.events import (
    RestrictedTask,
    SchedulerInfo,
    TasksRunnable,
    TasksUnrunnable,
    WorkerAdded,
)
from dask_blackbox.formatting import duration, listed
from dask_blackbox.patterns import bounded
from dask_blackbox.tables.schemas import Row

_CLOSING_SECONDS = 2.0


def _has(worker: WorkerAdded, resources: dict[str, float | int]) -> bool:
    had = worker.resources or {}
    return all(had.get(name, 0) >= wanted for name, wanted in resources.items())


def _workers_of_last_scheduler(case: Case) -> list[WorkerAdded]:
    """Return the workers of the run's last scheduler; all where that is not recorded."""
    added = case.run.of(WorkerAdded)
    schedulers = [each.subject for each in case.run.of(SchedulerInfo)]
    last = [each for each in added if schedulers and each.scheduler == schedulers[-1]]
    return last or list(added)


def workers_for(case: Case, task: RestrictedTask) -> set[str]:
    """Return the addresses of the workers that could have run a task."""
    names = {*task.hosts, *task.workers}
    return {
        worker.subject
        for worker in _workers_of_last_scheduler(case)
        if _has(worker, task.resources)
        and (not names or names & {worker.subject, worker.name})
    }


def still_unrunnable(case: Case) -> TasksUnrunnable | None:
    """Return what was last reported of tasks that no worker may run, if they still waited."""
    reports = case.run.of(TasksUnrunnable)
    if not reports or not reports[-1].tasks:
        return None
    last = reports[-1]
    # What ends in the last moments ends because the run does.
    end = last_sign_of_life(case.run) - _CLOSING_SECONDS
    ended = any(last.at < each.at < end for each in case.run.of(TasksRunnable))
    return None if ended else last


_LINE = bounded(r"(host|worker|resource)_restrictions=(.*?)(?=\s\w+_restrictions=|$)")


def restrictions_in(text: str) -> RestrictedTask:
    """Return the restrictions that the text of a `NoValidWorkerError` holds.

    What it does not hold, or what cannot be read, is empty.
    """
    names: dict[str, tuple[str, ...]] = {}
    resources: dict[str, float | int] = {}
    for kind, value in _LINE.findall(" ".join(text.split())):
        try:
            found = ast.literal_eval(value)
        except (ValueError, SyntaxError):
            continue
        if isinstance(found, dict) and kind == "resource":
            resources = found
        elif isinstance(found, set):
            names[kind] = tuple(sorted(map(str, found)))
    return RestrictedTask(
        hosts=names.get("host", ()),
        workers=names.get("worker", ()),
        resources=resources,
    )


def asks_for(task: RestrictedTask) -> str:
    """Return what a task asks of its worker, in words; nothing if it asks for nothing."""
    restriction = [
        f"{name}={_amount(number)}" for name, number in task.resources.items()
    ]
    for noun, named in (("worker", task.workers), ("host", task.hosts)):
        if named:
            one = noun if len(named) == 1 else f"one of the {noun}s"
            restriction.append(f"{one} {listed(list(named))}")
    return " and ".join(restriction)


_SIMILAR = 0.8  # of `difflib`


def offered(case: Case, task: RestrictedTask) -> str:
    """Return which resources there were, if it is resources that the task asks for."""
    if not task.resources:
        return _departed_worker(case, task)
    workers = _workers_of_last_scheduler(case)
    for worker in reversed(workers):
        if _has(worker, task.resources):
            return f" any more: {case.name_of(worker.subject)}, which had it, left"
    each = [w.resources for w in workers if w.resources is not None]
    if not each:
        return ""
    there = dict.fromkeys(f"{k}={_amount(v)}" for one in each for k, v in one.items())
    if not there:
        return " (none has any resource)"
    similar = _similar(task, {name.casefold(): name for one in each for name in one})
    return f" (available resources: {listed(list(there))}{similar})"


def _similar(task: RestrictedTask, names: dict[str, str]) -> str:
    """Return that a resource is called like one that a task asks for, if so.

    Args:
        names: Those of the resources that there are, by what is compared.
    """
    for asked in task.resources:
        alike = get_close_matches(asked.casefold(), names, n=1, cutoff=_SIMILAR)
        if alike and asked not in names.values():
            return f"; the name '{names[alike[0]]}' is similar, but another one"
    return ""


def _departed_worker(case: Case, task: RestrictedTask) -> str:
    """Return that a worker had the name that a task asks for, and left."""
    asked = {*task.hosts, *task.workers}
    left = case.run.workers.drop_nulls("left").sort("left")
    gone = [row for row in left.to_dicts() if asked & {row["name"], row["address"]}]
    if not gone:
        return ""
    last = gone[-1]
    ago = duration(max(last_sign_of_life(case.run) - last["left"].timestamp(), 0.0))
    if last["name"] not in asked:
        return (
            f" any more (that worker left {ago} before the end{_successor(case, last)})"
        )
    return (
        f" any more (worker '{last['name']}' left {ago} before the end; Dask treats a "
        "name that no worker has as a host)"
    )


def _successor(case: Case, left: Row) -> str:
    """Return which worker has the name of one that left, if there is one: its replacement."""
    same = case.run.workers.filter(
        (pl.col("name") == left["name"]) & (pl.col("joined") >= left["left"])
    )
    there = [each for each in same["address"] if each != left["address"]]
    if not left["name"] or not there:
        return ""
    return f"; worker '{left['name']}' is at {there[-1]} now"


NAMES_ARE_ADDRESSES = (
    "Dask turns a worker's name into its address when a task is submitted, and the process "
    "that replaces it has another one: submit such tasks after workers were restarted, let "
    "others run them (`allow_other_workers=True`), or ask for a resource (`--resources`), "
    "which the replacement has, too"
)
"""Why a task does not run where it was bound to, and what to do; without a full stop."""


def to_start(task: RestrictedTask) -> str:
    """Return how a worker is started that has the resources."""
    if not task.resources:
        return ""
    words = " ".join(f"{name}={_amount(n)}" for name, n in task.resources.items())
    return f' (`dask worker … --resources "{words}"`)'


def _amount(number: float) -> str:
    """Return an amount as people write it: 64000000000, 0.5, not 6.4e+10."""
    amount = float(number)  # may have been recorded as an integer
    return f"{amount:.0f}" if amount.is_integer() else f"{amount:g}"
