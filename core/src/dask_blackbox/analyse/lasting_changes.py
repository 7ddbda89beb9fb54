"""Since which run a measure of a job is on another level."""

from __future__ import annotations

from collections.abc import Iterable
from math import log
from statistics import median

from dask_blackbox.job_history import LastingChange

__all__ = ["LEVEL", "lasting_change"]

LEVEL = 1.25
"""Times as much, or as little, that is another level."""

_MOST_COMPARED = 120
_LEAST_BEFORE, _LEAST_SINCE = 5, 3  # runs that make a level
_APART = 0.8  # share of the runs since that are beyond nearly all before


def lasting_change(runs: Iterable[tuple[float, float | None]]) -> LastingChange | None:
    """Return since which good run a measure is on another level; None if it is not.

    Where the runs before and since differ least from their medians, in proportion.

    Args:
        runs: When each started, epoch seconds, and its measure; the newest first.
    """
    known = [(at, float(value)) for at, value in runs if value][:_MOST_COMPARED][::-1]
    values = [value for _, value in known]
    places = range(_LEAST_BEFORE, len(values) - _LEAST_SINCE + 1)
    if not places:
        return None
    logs = [log(each) for each in values]
    place = min(places, key=lambda n: _spread(logs[:n]) + _spread(logs[n:]))
    earlier, later = sorted(values[:place]), values[place:]
    before, now = median(earlier), median(later)
    highest, lowest = earlier[-1 - len(earlier) // 10], earlier[len(earlier) // 10]
    beyond = [each > highest if now > before else each < lowest for each in later]
    if max(now / before, before / now) < LEVEL or sum(beyond) < _APART * len(later):
        return None
    return LastingChange(
        since=known[place][0],
        runs=len(later),
        before=before,
        now=now,
        earlier=len(earlier),
    )


def _spread(values: list[float]) -> float:
    middle = median(values)
    return sum(abs(each - middle) for each in values)
