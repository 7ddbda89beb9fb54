"""What a task asks of its worker, and what the workers had of that, in words."""

from __future__ import annotations

import ast
import re

from dask_blackbox.analyse.case import Case
from dask_blackbox.analyse.run_state import last_sign_of_life
from dask_blackbox.events import RestrictedTask, WorkerAdded
from dask_blackbox.formatting import duration, listed

_LINE = re.compile(
    r"(host|worker|resource)_restrictions=(.*?)(?=\s\w+_restrictions=|$)"
)


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
    asks = [f"{name}={_amount(number)}" for name, number in task.resources.items()]
    for noun, named in (("worker", task.workers), ("host", task.hosts)):
        if named:
            one = noun if len(named) == 1 else f"one of the {noun}s"
            asks.append(f"{one} {listed(list(named))}")
    return " and ".join(asks)


def offered(case: Case, task: RestrictedTask) -> str:
    """Return which resources there were, if it is resources that the task asks for."""
    if not task.resources:
        return _departed_worker(case, task)
    workers = case.run.of(WorkerAdded)
    for worker in reversed(workers):
        had = worker.resources or {}
        if all(had.get(name, 0) >= wanted for name, wanted in task.resources.items()):
            return f" any more: {case.name_of(worker.subject)}, which had it, left"
    each = [w.resources for w in workers if w.resources is not None]
    if not each:
        return ""
    there = dict.fromkeys(f"{k}={_amount(v)}" for one in each for k, v in one.items())
    if not there:
        return " (none has any resource)"
    names = {name for one in each for name in one}
    spelt = {name.casefold() for name in names}
    case_only = [n for n in task.resources if n not in names and n.casefold() in spelt]
    hint = "; upper and lower case are different names" if case_only else ""
    number = "is the resource" if len(there) == 1 else "are the resources"
    return f" (there {number} {listed(list(there))}{hint})"


def _departed_worker(case: Case, task: RestrictedTask) -> str:
    """Return that a worker had the name that a task asks for, and left."""
    asked = {*task.hosts, *task.workers}
    left = case.run.workers.drop_nulls("left").sort("left")
    gone = [row for row in left.to_dicts() if row["name"] in asked]
    if not gone:
        return ""
    last = gone[-1]
    ago = duration(max(last_sign_of_life(case.run) - last["left"].timestamp(), 0.0))
    return (
        f" any more (worker '{last['name']}' left {ago} before the end; Dask takes a name that "
        "no worker has for a host)"
    )


def to_start(task: RestrictedTask) -> str:
    """Return how a worker is started that has the resources."""
    if not task.resources:
        return ""
    words = " ".join(f"{name}={_amount(n)}" for name, n in task.resources.items())
    return f' (`dask worker … --resources "{words}"`)'


def _amount(number: float) -> str:
    """Return an amount as people write it: 64000000000, 0.5, not 6.4e+10."""
    amount = float(
        number
    )  # what is not a fraction may have been recorded as an integer
    return f"{amount:.0f}" if amount.is_integer() else f"{amount:g}"
