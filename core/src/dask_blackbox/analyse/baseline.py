"""Is a number unusual for its job, given how much there was to do?

Values are compared as logarithms: what counts is how many times as much.  The size of the
input explains a part, by a robust line (Theil and Sen's: the median of all slopes); what
is left is compared with what was left in earlier runs, by their median and spread, which
outliers do not move.  Where the input is beyond all earlier ones, the benefit of the
doubt is given.  `benchmarks/false_alarms.py` tells how often healthy runs are accused.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

LEAST_RUNS = 4
"""Earlier runs without which nothing is called unusual."""

_WITHOUT_INPUT = 8  # a week: days differ, and nothing tells by how much
_RECENT = 40
_MOST = 120
_LEAST_SPREAD = 0.03
_STEEPEST = 1.1
_NARROW = 0.05
# How many spreads above the median are unusual, by the number of earlier runs: few runs
# tell little of their own spread.
_BARS = ((4, 9.5), (6, 7.5), (8, 6.4), (12, 5.5), (20, 4.8), (40, 4.4), (100, 4.2))
_FACTORS = ((4, 1.8), (8, 1.65), (20, 1.5), (60, 1.4))
_FEW = 20


@dataclass(frozen=True, kw_only=True)
class Unusual:
    """A number that is far above what is usual.

    Attributes:
        value: The number.
        expected: What was to be expected with this input.
        bar: Above which it is unusual.
        runs: How many earlier runs say so.
        by_input: Whether the size of the input was taken into account.
    """

    value: float
    expected: float
    bar: float
    runs: int
    by_input: bool

    @property
    def factor(self) -> float:
        """How many times the expected it is."""
        return self.value / self.expected


@dataclass(frozen=True, kw_only=True)
class Usual:
    """What is usual for a job: a line through its earlier runs, and how far they are off.

    Attributes:
        slope: How the number grows with the input, as an exponent; 0: it does not.
        level: Logarithm of the number at an input of 1.
        low: Logarithm of the least input.
        high: Logarithm of the largest input.
        spread: Of what the line does not explain, as a logarithm.
        ceiling: How far above the line the worst of the earlier runs was, as a logarithm.
        runs: How many earlier runs there are.
        by_input: Whether the size of the input is known.
    """

    slope: float
    level: float
    low: float
    high: float
    spread: float
    ceiling: float
    runs: int
    by_input: bool

    def expected(self, size: float | None) -> float:
        """Return what is to be expected of a run with this much input."""
        return math.exp(self._line(size))

    def _line(self, size: float | None) -> float:
        if not self.by_input or size is None or size <= 0:
            return self.level
        x = math.log(size)
        inside = min(max(x, self.low), self.high)
        # Beyond what was ever read, no line is known: as much as anybody could claim.
        beyond = max(x - self.high, 0.0) * max(self.slope, _STEEPEST)
        return self.level + self.slope * inside + beyond

    def judge(
        self, value: float, size: float | None, *, strict: float = 1.0
    ) -> Unusual | None:
        """Return in which way a number is unusual; None if it is not.

        Args:
            strict: By how much the bar is raised, where many numbers of one run are judged.
        """
        if value <= 0 or (self.by_input and not size):
            return None
        line = self._line(size)
        bar = max(
            self.spread * _at(_BARS, self.runs) * strict,
            math.log(_at(_FACTORS, self.runs)),
            self.ceiling,  # what was healthy before is so again
        )
        if math.log(value) - line <= bar:
            return None
        return Unusual(
            value=value,
            expected=math.exp(line),
            bar=math.exp(line + bar),
            runs=self.runs,
            by_input=self.by_input,
        )


def usual_of(
    values: Sequence[float | None], sizes: Sequence[float | None]
) -> Usual | None:
    """Return what is usual; None if there are too few runs to say.

    Args:
        values: A number of each earlier run, the newest first.
        sizes: How much input each of them had.
    """
    pairs = [
        (math.log(value), math.log(size) if size and size > 0 else None)
        for value, size in zip(values, sizes, strict=True)
        if value is not None and value > 0
    ][:_MOST]
    known = [(y, x) for y, x in pairs if x is not None]
    by_input = len(known) >= max(LEAST_RUNS, 0.8 * len(pairs))
    if by_input:
        ys = np.array([y for y, _ in known])
        xs = np.array([x for _, x in known])
    else:
        ys = np.array([y for y, _ in pairs])
        xs = np.zeros(len(pairs))
    if len(ys) < (LEAST_RUNS if by_input else _WITHOUT_INPUT):
        return None
    slope = _slope(xs, ys)
    rest = ys - slope * xs
    level = float(np.median(rest[:_RECENT]))
    off = rest - level
    return Usual(
        slope=slope,
        level=level,
        low=float(xs.min()),
        high=float(xs.max()),
        spread=_spread(off),
        ceiling=float(off.max()),
        runs=len(ys),
        by_input=by_input,
    )


def _slope(xs: np.ndarray, ys: np.ndarray) -> float:
    """Return the median slope between any two runs, between none and a bit over linear."""
    first, second = np.triu_indices(len(xs), 1)
    run = xs[first] - xs[second]
    far = np.abs(run) > _NARROW
    if far.sum() < len(xs):
        return 0.0
    slopes = (ys[first] - ys[second])[far] / run[far]
    return float(np.clip(np.median(slopes), 0.0, _STEEPEST))


def _spread(off: np.ndarray) -> float:
    """Return how far runs are off, by their median and by those above it."""
    middle = 1.4826 * float(np.median(np.abs(off)))
    above = float(np.quantile(off, 0.9)) / 1.2816 if len(off) >= _FEW else 0.0
    return max(middle, above, _LEAST_SPREAD)


def _at(table: Sequence[tuple[float, float]], runs: int) -> float:
    """Return a value of a table, between its points by the logarithm of the runs."""
    return float(
        np.interp(
            math.log(runs),
            [math.log(n) for n, _ in table],
            [value for _, value in table],
        )
    )
