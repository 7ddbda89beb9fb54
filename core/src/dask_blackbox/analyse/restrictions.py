"""What a task asks of its worker, and what the workers had of that, in words."""

from __future__ import annotations

import ast
import re
from typing import Any

from dask_blackbox.analyse.case import Case
from dask_blackbox.analyse.state import last_sign_of_life
from dask_blackbox.analyse.words import duration, listed

__all__ = ["asks_for", "offered", "restrictions_in", "to_start"]

_LINE = re.compile(
    r"(host|worker|resource)_restrictions=(.*?)(?=\s\w+_restrictions=|$)"
)
_FIELD = {"host": "hosts", "worker": "workers", "resource": "resources"}


def restrictions_in(text: str) -> dict[str, Any]:
    """Return the restrictions that the text of a `NoValidWorkerError` holds.

    Returns:
        `hosts` and `workers` (lists of names) and `resources` (amounts by name), as far as
        they are there and can be read.
    """
    found: dict[str, Any] = {}
    for kind, value in _LINE.findall(" ".join(text.split())):
        try:
            told = ast.literal_eval(value)
        except (ValueError, SyntaxError):
            continue
        if isinstance(told, dict):
            found[_FIELD[kind]] = told
        elif isinstance(told, set):
            found[_FIELD[kind]] = sorted(map(str, told))
    return {name: value for name, value in found.items() if value}


def asks_for(task: dict[str, Any]) -> str:
    """Return what a task asks of its worker, in words; nothing if it asks for nothing."""
    resources = dict(task.get("resources") or {})
    asks = [f"{name}={_amount(number)}" for name, number in resources.items()]
    for what in ("workers", "hosts"):
        named = [str(name) for name in task.get(what) or ()]
        if named:
            noun = what.removesuffix("s") if len(named) == 1 else f"one of the {what}"
            asks.append(f"{noun} {listed(named)}")
    return " and ".join(asks)


def offered(case: Case, task: dict[str, Any]) -> str:
    """Return which resources there were, if it is resources that the task asks for."""
    if not task.get("resources"):
        return _gone(case, task)
    facts = case.run.details("worker-added")
    for fact in reversed(facts):
        had = dict(fact.get("resources") or {})
        if all(
            had.get(name, 0) >= wanted for name, wanted in task["resources"].items()
        ):
            return f" any more: {case.name_of(fact['subject'])}, which had it, has left"
    each = [dict(fact["resources"] or {}) for fact in facts if "resources" in fact]
    if not each:
        return ""
    there = dict.fromkeys(f"{k}={_amount(v)}" for one in each for k, v in one.items())
    if not there:
        return " (none has any resource)"
    names = {name for one in each for name in one}
    spelt = {name.casefold() for name in names}
    case_only = [
        n for n in task["resources"] if n not in names and n.casefold() in spelt
    ]
    hint = "; upper and lower case are different names" if case_only else ""
    number = "is the resource" if len(there) == 1 else "are the resources"
    return f" (there {number} {listed(list(there))}{hint})"


def _gone(case: Case, task: dict[str, Any]) -> str:
    """Return that a worker had the name that a task asks for, and left."""
    asked = {
        str(name) for name in (*(task.get("hosts") or ()), *(task.get("workers") or ()))
    }
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


def to_start(task: dict[str, Any]) -> str:
    """Return how a worker is started that has the resources."""
    resources = dict(task.get("resources") or {})
    if not resources:
        return ""
    words = " ".join(f"{name}={_amount(number)}" for name, number in resources.items())
    return f' (`dask worker … --resources "{words}"`)'


def _amount(number: Any) -> str:
    """Return an amount as people write it: 64000000000, 0.5, not 6.4e+10."""
    amount = float(number)
    return f"{amount:.0f}" if amount.is_integer() else f"{amount:g}"
