"""Data, code or infrastructure: which side changed, in a sentence, and how sure that is."""

from __future__ import annotations

import math
from collections.abc import Sequence

from dask_blackbox.analyse.changes.ranking import Ranked
from dask_blackbox.analyse.words import listed
from dask_blackbox.finding import Confidence, Finding
from dask_blackbox.past import Blame

__all__ = ["side_of", "sides"]

_SIDE: dict[str, Blame] = {
    "input-size": "data",
    "parameters": "data",
    "code": "code",
    "graph-shape": "code",
    "package": "infrastructure",
    "python": "infrastructure",
    "dask-config": "infrastructure",
    "cluster-shape": "infrastructure",
    "host": "infrastructure",
}
_NAMES = {
    "input-size": "the input",
    "parameters": "the parameters",
    "code": "the code",
    "graph-shape": "the graph",
    "package": "packages",
    "python": "Python",
    "dask-config": "Dask's configuration",
    "cluster-shape": "the cluster",
    "host": "the host",
}
_RARE = 0.8
_SEVERAL_RUNS = 5
_MANY_RUNS = 20


def side_of(kind: str) -> Blame:
    """Return on which side a kind of change is."""
    return _SIDE.get(kind, "unknown")


def sides(
    ranked: Sequence[Ranked],
    verdict: Finding | None,
    *,
    steps: int,
    blind: Sequence[str],
) -> tuple[Blame, str, Confidence]:
    """Return which side changed, a sentence that says it, and how sure that is.

    Args:
        ranked: The changes, habits left out.
        verdict: Why the run failed.
        steps: How many earlier times one run came after another.
        blind: Kinds of facts that one of the two runs does not tell of.
    """
    unseen = f" ({_names(blind)} could not be compared)" if blind else ""
    rare = [each for each in ranked if each.rarity is None or each.rarity >= _RARE]
    if not rare:
        said = "Nothing that is recorded has changed in an unusual way"
        if verdict is not None and verdict.retry_advice == "transient":
            said += ", which fits a failure of the moment"
        sure: Confidence = "medium" if steps >= _SEVERAL_RUNS and not blind else "low"
        return "nothing", f"{said}{unseen}.", sure
    most = max(each.weight for each in rare)
    telling = [each for each in rare if each.weight == most]
    found = {side_of(each.change.kind) for each in telling}
    if len(found) > 1:
        kinds = [each.change.kind for each in telling]
        said = f"More than one side has changed: {_names(kinds)}"
        return "several", f"{said}{unseen}.", "low"
    blame = found.pop()
    others = {side_of(each.change.kind) for each in rare} - {blame}
    return (
        blame,
        _sentence(blame, telling, others) + unseen + ".",
        _confidence(telling, steps, others=bool(others), blind=bool(blind)),
    )


def _sentence(blame: Blame, telling: Sequence[Ranked], others: set[Blame]) -> str:
    first = telling[0]
    kinds = [each.change.kind for each in telling]
    what = f"{blame.capitalize()}: "
    only = "" if others else "nothing else has changed but "
    if blame == "data" and not others:
        only = "nothing of ours has changed but "
    said = f"{what}{only}{_names(kinds)}"
    if others:
        said += f" changed, and it fits the verdict; so did {listed(sorted(others))}"
    change = first.change
    if change.kind == "input-size" and change.by is not None:
        return f"{said}: {math.exp(change.by):.2g}\N{MULTIPLICATION SIGN} the {change.what}"
    before = "nothing" if change.before is None else change.before
    after = "nothing" if change.after is None else change.after
    more = f", and {len(telling) - 1} more" if len(telling) > 1 else ""
    return f"{said}: {change.what} {before} → {after}{more}"


def _confidence(
    telling: Sequence[Ranked], steps: int, *, others: bool, blind: bool
) -> Confidence:
    named = any(each.weight >= 1 for each in telling)
    fits = any(each.weight > 0 for each in telling)
    if others or blind:
        return "medium" if named else "low"
    if named:
        return "high" if steps >= _SEVERAL_RUNS else "medium"
    if steps < _SEVERAL_RUNS:
        return "low"
    return "high" if fits and steps >= _MANY_RUNS else "medium"


def _names(kinds: Sequence[str]) -> str:
    plain = dict.fromkeys(kind.partition("/")[0] for kind in kinds)
    return listed([_NAMES.get(kind, kind) for kind in plain], most=4)
