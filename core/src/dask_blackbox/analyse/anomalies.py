"""What of a run is unusual for its job: how long it took, how much memory it had."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from dask_blackbox.sketch import REST, PrefixSketch, Sketch

_LEAST_RUNS = 4
"""Earlier runs without which nothing is called unusual."""

_WITHOUT_INPUT = 8  # a week: days differ by an unknown amount
_RECENT = 40
_MOST_RUNS = 120
_LEAST_SPREAD = 0.03
_STEEPEST = 1.1
_NARROW = 0.05
# How many spreads above the median are unusual, by the number of earlier runs: few runs
# say little about their spread.
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
        """Return the value expected of a run with this much input."""
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
    """Return what is usual; None if there are too few runs.

    Args:
        values: A number of each earlier run, the newest first.
        sizes: How much input each of them had.
    """
    pairs = [
        (math.log(value), math.log(size) if size and size > 0 else None)
        for value, size in zip(values, sizes, strict=True)
        if value is not None and value > 0
    ][:_MOST_RUNS]
    known = [(y, x) for y, x in pairs if x is not None]
    by_input = len(known) >= max(_LEAST_RUNS, 0.8 * len(pairs))
    if by_input:
        ys = np.array([y for y, _ in known])
        xs = np.array([x for _, x in known])
    else:
        ys = np.array([y for y, _ in pairs])
        xs = np.zeros(len(pairs))
    if len(ys) < (_LEAST_RUNS if by_input else _WITHOUT_INPUT):
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


_ALIKE = 0.1
_MEDIAN = 2  # of sketch.QUANTILES
_HIGH = 4
_LARGE = 0.1
_MOST = 6
_STRICTER = 1.25
_LARGE_SHARE = 3.0  # times the expected, for what is asked second of the same tasks
_LEAST_SECONDS = 3.0
_LEAST_BYTES = 64 * 2**20
_TASKS = 4


class UnusualPart(NamedTuple):
    """Something unusual, of the whole run (`prefix` is None) or of the tasks of a prefix.

    Attributes:
        prefix: Whose tasks.
        unusual: What about them.
        tasks: How many there were.
        cpu: It is the time that they had a core: neighbours have no part in it.
    """

    prefix: str | None
    unusual: Unusual
    tasks: int = 0
    cpu: bool = False


def slower(earlier: Sequence[Sketch], sketch: Sketch) -> list[UnusualPart]:
    """Return what took unusually long: the run first, then prefixes by their cost.

    Args:
        earlier: Runs that ended well, the newest first.
    """
    found = []
    earlier = _as_much_cached(earlier, sketch)
    whole = _judged(earlier, sketch, lambda each: each.duration, _input)
    if whole is not None and whole.value - whole.expected > _LEAST_SECONDS:
        found.append(UnusualPart(None, whole))
    for prefix in _costly(sketch):
        part = _unusual_prefix(earlier, sketch, prefix, _median_seconds)
        own = (
            None if part is not None else _unusual_prefix(earlier, sketch, prefix, _cpu)
        )
        # On a host shared with others, only this distinguishes a slow task from a busy host.
        each = own if own is not None and own.factor >= _LARGE_SHARE else part
        if each and (each.value - each.expected) * prefix.tasks > _LEAST_SECONDS:
            reported = UnusualPart(prefix.name, each, prefix.tasks, cpu=part is None)
            found.append(reported)
    return found


def more_memory(earlier: Sequence[Sketch], sketch: Sketch) -> list[UnusualPart]:
    """Return where unusually much memory was used: by the run, then by prefixes.

    Args:
        earlier: Runs that ended well, the newest first.
    """
    found = []
    earlier = _as_much_cached(earlier, sketch)
    whole = _judged(earlier, sketch, lambda each: each.measure("peak_memory"), _input)
    if whole is not None and whole.value - whole.expected > _LEAST_BYTES:
        found.append(UnusualPart(None, whole))
        for prefix in _costly(sketch):
            part = _unusual_prefix(earlier, sketch, prefix, _high_memory)
            if part is not None and part.value - part.expected > _LEAST_BYTES:
                found.append(UnusualPart(prefix.name, part, prefix.tasks))
    return found


def _as_much_cached(earlier: Sequence[Sketch], sketch: Sketch) -> list[Sketch]:
    """Return the runs that had about the same share of their results from a cache."""
    share = _cached(sketch)
    return [each for each in earlier if abs(_cached(each) - share) <= _ALIKE]


def _cached(sketch: Sketch) -> float:
    cached, tasks = sketch.measure("cached"), sketch.measure("tasks")
    return cached / tasks if cached and tasks else 0.0


def _input(sketch: Sketch) -> float | None:
    inputs = sketch.inputs
    return inputs.nbytes or inputs.partitions


def _per_partition(sketch: Sketch) -> float | None:
    inputs = sketch.inputs
    if not inputs.nbytes or not inputs.partitions:
        return None
    return inputs.nbytes / inputs.partitions


_Measure = Callable[[Sketch], float | None]


def _judged(
    earlier: Sequence[Sketch],
    sketch: Sketch,
    measure: _Measure,
    size: _Measure,
    *,
    strict: float = 1.0,
) -> Unusual | None:
    value = measure(sketch)
    if value is None:
        return None
    by_bytes = bool(sketch.inputs.nbytes)
    # Bytes are compared with bytes, partitions with partitions.
    alike = [each for each in earlier if bool(each.inputs.nbytes) == by_bytes]
    usual = usual_of([measure(each) for each in alike], [size(each) for each in alike])
    return None if usual is None else usual.judge(value, size(sketch), strict=strict)


def _costly(sketch: Sketch) -> Iterator[PrefixSketch]:
    total = sum(each.compute for each in sketch.prefixes)
    for each in sketch.prefixes[:_MOST]:
        if each.name != REST and each.tasks >= _TASKS and each.compute > _LARGE * total:
            yield each


def _median_seconds(prefix: PrefixSketch) -> float | None:
    return prefix.seconds[_MEDIAN] if len(prefix.seconds) > _MEDIAN else None


def _high_memory(prefix: PrefixSketch) -> float | None:
    return prefix.memory[_HIGH] if len(prefix.memory) > _HIGH else None


def _cpu(prefix: PrefixSketch) -> float | None:
    return prefix.cpu / prefix.tasks if prefix.cpu and prefix.tasks else None


def _unusual_prefix(
    earlier: Sequence[Sketch],
    sketch: Sketch,
    prefix: PrefixSketch,
    quantity: Callable[[PrefixSketch], float | None],
) -> Unusual | None:
    def measure(each: Sketch) -> float | None:
        for known in each.prefixes:
            if known.name == prefix.name and known.tasks >= _TASKS:
                return quantity(known)
        return None

    return _judged(earlier, sketch, measure, _per_partition, strict=_STRICTER)
