"""The differences of a run in the order in which somebody on call should read them."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import NamedTuple

from dask_blackbox.analyse.changes.differences import Difference, differences
from dask_blackbox.analyse.changes.folding import Causes
from dask_blackbox.analyse.changes.relevance import (
    Relevance,
    VerdictContext,
    is_of_code,
    is_version,
    relevance_of,
)
from dask_blackbox.analyse.history import in_turn
from dask_blackbox.sketch import Sketch

_HABIT = 0.5
_ENOUGH = 3
_BESIDE = -0.5  # commits of something else
_UNKNOWN = 0.75  # for the order only: without a history, nobody knows

_ORDER = (
    "code",
    "input-size",
    "python",  # with another Python, packages are others, too
    "package",
    "parameters",
    "cluster-shape",
    "graph-shape",
    "dask-config",
    "host",
)
_NARROW = ("prefix", "callable", "module")


class Ranked(NamedTuple):
    """A difference, how rare it is, and what it has to do with the verdict."""

    change: Difference
    rarity: float | None
    weight: float = 0.0
    why: str | None = None
    explains: tuple[Ranked, ...] = ()

    @property
    def habit(self) -> bool:
        """Whether it happens in most runs."""
        return self.rarity is not None and self.rarity < _HABIT


def ranked(
    found: Sequence[Difference],
    rarities: Rarities,
    context: VerdictContext,
    causes: Causes | None = None,
) -> tuple[list[Ranked], list[Ranked]]:
    """Return the differences that are worth a look, the most telling first; and habits.

    What follows from another difference stands under it, and makes it as telling.

    A habit is what changes in most runs: a date, a run's number.  It needs three steps
    from run to run to be known as one, and explains nothing.

    Args:
        found: The differences of two runs.
        rarities: How often such a difference came up before.
        accused: Why the later run failed.
        causes: Which of them explains which other; None: each stands for itself.
    """
    judged = []
    code = any(is_of_code(each) for each in found)
    for change in found:
        reported = relevance_of(change, context)
        if is_version(change) and code:
            reported = Relevance()  # that which changed is there by name
        elif is_version(change) and context.code_known:
            reported = Relevance(_BESIDE, "the code that ran is the same")
        judged.append(Ranked(change, rarities.of(change), *reported))
    judged.sort(key=_place)
    known = rarities.steps >= _ENOUGH
    habits = [each for each in judged if known and each.habit]
    rest = [each for each in judged if each not in habits]
    return (rest if causes is None else _folded(rest, causes)), habits


def _folded(judged: Sequence[Ranked], causes: Causes) -> list[Ranked]:
    """Return the differences, each with those that it explains."""
    found = [each.change for each in judged]
    cause_of = {each: causes.of(each, found) for each in found}
    under: dict[Difference, list[Ranked]] = {}
    for each in judged:
        root, cause = each.change, cause_of[each.change]
        while cause is not None:
            root, cause = cause, cause_of[cause]
        if root != each.change:
            under.setdefault(root, []).append(each)
    heads = [
        _with(each, under.get(each.change, ()))
        for each in judged
        if cause_of[each.change] is None
    ]
    return sorted(heads, key=_place)


def _with(head: Ranked, explained: Sequence[Ranked]) -> Ranked:
    """Return a difference with those that it explains; it tells as much as they do."""
    most = max([head, *explained], key=lambda each: each.weight)
    if head.weight >= most.weight:
        return head._replace(explains=tuple(explained))
    return head._replace(explains=tuple(explained), weight=most.weight, why=most.why)


def _place(each: Ranked) -> tuple[float, int, float, float, str]:
    rarity = _UNKNOWN if each.rarity is None else each.rarity
    kind = each.change.kind
    order = _ORDER.index(kind) if kind in _ORDER else len(_ORDER)
    what = each.change.what
    # Tasks before the module that they are in, and that before its commit.
    narrow = 0.0
    if kind == "code":
        word = what.partition(" ")[0]
        narrow = _NARROW.index(word) if word in _NARROW else len(_NARROW)
    elif kind == "parameters" and what.startswith("argument "):
        narrow = 1.0  # what has a name says more than what has a place
    by = -abs(each.change.by or 0)
    return (-(rarity + each.weight), order, narrow, by, what)


_AS_LARGE = 0.8  # of a growth: nearly as much counts as such a change


class Rarities:
    """What changed from run to run in a job's history.

    Args:
        sketches: Earlier runs, however they ended, in any order.
    """

    def __init__(self, sketches: Sequence[Sketch]) -> None:
        steps = [differences(a, b) for a, b in pairwise(in_turn(sketches))]
        self.steps = len(steps)
        """How many times one run came after another."""
        self._times: dict[tuple[str, str], int] = {}
        self._growths: dict[tuple[str, str], list[float]] = {}
        for step in steps:
            for each in {(d.kind, d.what): d for d in step}.values():
                key = (each.kind, each.what)
                self._times[key] = self._times.get(key, 0) + 1
                if each.by is not None:
                    self._growths.setdefault(key, []).append(abs(each.by))

    def of(self, change: Difference) -> float | None:
        """Return the share of earlier runs without such a change; None without any.

        Of a number, such a change is one as large.
        """
        if not self.steps:
            return None
        key = (change.kind, change.what)
        if change.by is not None:
            least = _AS_LARGE * abs(change.by)
            times = sum(each >= least for each in self._growths.get(key, ()))
        else:
            times = self._times.get(key, 0)
        return 1 - times / self.steps
