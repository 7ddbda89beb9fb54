"""How often a difference came up before: what happens every night explains nothing."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from dask_blackbox.analyse.changes.differences import Difference, differences
from dask_blackbox.analyse.history import in_turn
from dask_blackbox.sketch import Sketch

__all__ = ["Rarities"]

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
