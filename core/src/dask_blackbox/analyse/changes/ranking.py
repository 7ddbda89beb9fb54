"""The differences of a run in the order in which somebody on call should read them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from dask_blackbox.analyse.changes.differences import Difference
from dask_blackbox.analyse.changes.rarity import Rarities
from dask_blackbox.analyse.changes.relevance import (
    Accused,
    Relevance,
    is_of_code,
    is_version,
    relevance_of,
)

__all__ = ["Ranked", "ranked"]

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

    @property
    def habit(self) -> bool:
        """Whether it happens in most runs."""
        return self.rarity is not None and self.rarity < _HABIT


def ranked(
    found: Sequence[Difference], rarities: Rarities, accused: Accused
) -> tuple[list[Ranked], list[Ranked]]:
    """Return the differences that are worth a look, the most telling first; and habits.

    A habit is what changes in most runs: a date, a run's number.  It needs three steps
    from run to run to be known as one.
    """
    judged = []
    code = any(is_of_code(each) for each in found)
    for change in found:
        told = relevance_of(change, accused)
        if is_version(change) and code:
            told = Relevance()  # that which changed is there by name
        elif is_version(change) and accused.code_known:
            told = Relevance(_BESIDE, "the code that ran is the same")
        judged.append(Ranked(change, rarities.of(change), *told))
    judged.sort(key=_place)
    known = rarities.steps >= _ENOUGH
    habits = [each for each in judged if known and each.habit]
    return [each for each in judged if each not in habits], habits


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
