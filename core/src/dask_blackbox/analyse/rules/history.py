"""What is unusual for the job, by its earlier runs: time, memory, and where memory leads."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import msgspec
import numpy as np

from dask_blackbox.analyse.case import Case
from dask_blackbox.analyse.earlier_runs import History
from dask_blackbox.analyse.lasting_changes import LEVEL, lasting_change
from dask_blackbox.analyse.offers import beyond_host, several_threads
from dask_blackbox.analyse.rule import documented
from dask_blackbox.analyse.rules.memory import TERMINATED_AT
from dask_blackbox.analyse.sketching import sketch_of
from dask_blackbox.finding import Evidence, Finding, Subject
from dask_blackbox.formatting import (
    command,
    counted,
    day,
    duration,
    need,
    quoted,
    size,
    store_of,
)
from dask_blackbox.job_history import LastingChange
from dask_blackbox.sketch import REST, PrefixSketch, Sketch

_LEAST_COMPARED = 4
"""Earlier runs without which nothing is called unusual."""

_WITHOUT_INPUT = 8  # a week: days differ by an unknown amount
_RECENT = 40
_MOST_COMPARED = 120
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
        self,
        value: float,
        size: float | None,
        *,
        strict: float = 1.0,
        factor: float | None = None,
    ) -> Unusual | None:
        """Return in which way a number is unusual; None if it is not.

        Args:
            strict: By how much the bar is raised, where many numbers of one run are judged.
            factor: How many times the expected is unusual, where several runs say so.
        """
        if value <= 0 or (self.by_input and not size):
            return None
        line = self._line(size)
        bar = max(
            self.spread * _at(_BARS, self.runs) * strict,
            math.log(_at(_FACTORS, self.runs)),
            self.ceiling,  # what was healthy before is so again
        )
        bar = bar if factor is None else math.log(factor)
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
    ][:_MOST_COMPARED]
    known = [(y, x) for y, x in pairs if x is not None]
    by_input = len(known) >= max(_LEAST_COMPARED, 0.8 * len(pairs))
    if by_input:
        ys = np.array([y for y, _ in known])
        xs = np.array([x for _, x in known])
    else:
        ys = np.array([y for y, _ in pairs])
        xs = np.zeros(len(pairs))
    if len(ys) < (_LEAST_COMPARED if by_input else _WITHOUT_INPUT):
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


def slower(
    earlier: Sequence[Sketch], sketch: Sketch, *, factor: float | None = None
) -> list[UnusualPart]:
    """Return what took unusually long: the run first, then prefixes by their cost.

    Args:
        earlier: Runs that ended well, the newest first.
        factor: How many times the usual time of the run is long, where several runs say so.
    """
    found = []
    earlier = _as_much_cached(earlier, sketch)
    whole = _judged(earlier, sketch, lambda each: each.duration, _input, factor=factor)
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
    return inputs.total or inputs.partitions


def _per_partition(sketch: Sketch) -> float | None:
    inputs = sketch.inputs
    if not inputs.total or not inputs.partitions:
        return None
    return inputs.total / inputs.partitions


_Measure = Callable[[Sketch], float | None]


def _judged(
    earlier: Sequence[Sketch],
    sketch: Sketch,
    measure: _Measure,
    size: _Measure,
    *,
    strict: float = 1.0,
    factor: float | None = None,
) -> Unusual | None:
    value = measure(sketch)
    if value is None:
        return None
    # Bytes of files are compared with such, partitions with partitions.
    kind = sketch.inputs.kind
    alike = [each for each in earlier if each.inputs.kind == kind]
    if sketch.inputs.read and 2 * len(alike) < len(earlier):
        # Most of them were recorded by a version that did not know of files.
        earlier, sketch = [*map(_without_files, earlier)], _without_files(sketch)
        return _judged(earlier, sketch, measure, size, strict=strict, factor=factor)
    usual = usual_of([measure(each) for each in alike], [size(each) for each in alike])
    if usual is None:
        return None
    return usual.judge(value, size(sketch), strict=strict, factor=factor)


def _without_files(sketch: Sketch) -> Sketch:
    inputs = msgspec.structs.replace(sketch.inputs, read=None, files=None)
    return msgspec.structs.replace(sketch, inputs=inputs)


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


# slower-than-usual

_GRAVE = 2.0
_MILLISECONDS = 0.01  # seconds: names have a run's start in milliseconds


@documented("slower-than-usual")
def SLOWER_THAN_USUAL(case: Case) -> Iterator[Finding]:
    if case.state != "succeeded" or not case.history.good:
        return
    sketch = sketch_of(case)
    change, parts = slower_since(case.history, sketch)
    parts = parts or slower(case.history.good, sketch)
    if not parts:
        return
    first = parts[0]
    prefixes = [part for part in parts if part.prefix is not None]
    if not prefixes and case.task_activity.busy:
        return  # others had the host: a slow night, and nothing of the job's
    since = _evidence_since(case, change) if change else ()
    yield SLOWER_THAN_USUAL.found(
        _title_since(change, first) if change else _title_slower(first),
        cause=f"{_sentence(first, change)} {_whose(first, prefixes)}".strip(),
        remedy=_remedy(first, prefixes),
        confidence="medium",
        severity="warning" if first.unusual.factor >= _GRAVE else "notice",
        subject=Subject(prefix=prefixes[0].prefix if prefixes else None),
        evidence=(
            *since,
            *(Evidence(text=_fact(part), source="tasks") for part in prefixes[:5]),
        ),
    )


def slower_since(
    history: History, sketch: Sketch
) -> tuple[LastingChange | None, list[UnusualPart]]:
    """Return since when all runs take longer, and what takes longer than before.

    After as many runs as were compared before, it is what is usual.

    Args:
        history: The runs before.
        sketch: The run itself.
    """
    runs = [
        (each.started_ms / 1000, each.duration)
        for each in history.names
        if each.state == "succeeded"
    ]
    change = lasting_change([(sketch.started, sketch.duration), *runs])
    if change is None or change.now < change.before or change.runs > change.earlier:
        return None, []
    before = [e for e in history.good if e.started < change.since - _MILLISECONDS]
    parts = slower(before, sketch, factor=LEVEL)
    return (change, parts) if parts and parts[0].prefix is None else (None, [])


def _title_since(change: LastingChange, first: UnusualPart) -> str:
    return (
        f"Slower since {day(change.since)}: for {counted(change.runs, 'good run')}, "
        f"{first.unusual.factor:.1f} times as long as before"
    )


def _evidence_since(case: Case, change: LastingChange) -> tuple[Evidence, ...]:
    """Return the levels before and since, and the command that shows what changed between."""
    names = [each for each in case.history.names if each.state == "succeeded"]
    since = round(change.since * 1000)
    ends = (
        next((each for each in names if each.started_ms < since), None),
        next((each for each in reversed(names) if each.started_ms >= since), None),
    )
    runs = [each.address.name for each in ends if each is not None]
    store = store_of(case.run.url)
    return (
        Evidence(
            text=f"{counted(change.runs, 'good run')} since {day(change.since)}: "
            f"{duration(change.now)} (median); {counted(change.earlier, 'good run')} before: "
            f"{duration(change.before)}.",
            source="history",
            see=command("compare", *runs, store=store) if len(runs) > 1 else None,
        ),
    )


def _title_slower(part: UnusualPart) -> str:
    times = f"{part.unusual.factor:.1f} times"
    if part.prefix is None:
        return f"The run took {times} as long as usual"
    if part.cpu:
        return f"Tasks of '{part.prefix}' computed {times} as long as usual"
    return f"Tasks of '{part.prefix}' took {times} as long as usual"


def _sentence(part: UnusualPart, change: LastingChange | None = None) -> str:
    unusual = part.unusual
    whose = "It took" if part.prefix is None else f"A task of '{part.prefix}' took"
    if part.cpu:
        whose = f"A task of '{part.prefix}' had a core for"
    by = " with this much input" if unusual.by_input else ""
    if change is not None:
        by += f" before {day(change.since)}"
    return (
        f"{whose} {duration(unusual.value)}. After {counted(unusual.runs, 'good run')}{by}, "
        f"{duration(unusual.expected)} was expected, and up to "
        f"{duration(unusual.bar)} would have been usual."
    )


def _whose(first: UnusualPart, prefixes: list[UnusualPart]) -> str:
    if first.prefix is not None:
        own = (
            " Other processes on the host do not account for that time."
            if first.cpu
            else ""
        )
        return f"The run as a whole took no longer than usual.{own}"
    if not prefixes:
        return (
            "No group of tasks stands out: the time was spent between tasks, or in "
            "all of them."
        )
    names = quoted(part.prefix or "" for part in prefixes)
    return f"Each task of {names} took longer."


def _fact(part: UnusualPart) -> str:
    unusual = part.unusual
    what = "core time, mean" if part.cpu else "median"
    return (
        f"'{part.prefix}': {what} of {counted(part.tasks, 'task')} "
        f"{duration(unusual.value)}, usually {duration(unusual.expected)}"
    )


def _remedy(first: UnusualPart, prefixes: list[UnusualPart]) -> str:
    if first.prefix is None and not prefixes:
        return (
            "Check what changed. Then check what workers did between tasks: fewer or "
            "slower workers, waiting for workers, transfers."
        )
    return (
        "Check what changed in the code and the packages that these tasks run, and the "
        "machines that they ran on."
    )


@documented("memory-forecast")
def MEMORY_FORECAST(case: Case) -> Iterator[Finding]:
    if case.state != "succeeded" or case.deaths:
        return
    if not case.history.good and MEMORY_FORECAST.threshold(case, "near-runs") > 1:
        return  # one run alone has no trend
    forecast = forecast_of(case.history.good, sketch_of(case))
    if forecast is None:
        return
    near = forecast.near >= MEMORY_FORECAST.threshold(case, "near-runs")
    soon = (
        forecast.runs_left is not None
        and forecast.runs_left <= MEMORY_FORECAST.threshold(case, "runs-ahead")
        and forecast.peak < _NEAR * forecast.limit
    )
    if not near and not soon:
        return
    yield MEMORY_FORECAST.found(
        _title_forecast(forecast, near=near),
        cause=_cause_forecast(forecast, near=near),
        remedy=(
            f"Give each worker at least {need(forecast.needed)}"
            + (
                f" (enough for {forecast.ahead} more runs at this growth)"
                if forecast.growth
                else ""
            )
            + (", run fewer tasks at once" if several_threads(case) else "")
            + ", or make the pieces smaller."
            + beyond_host(case, round(forecast.needed))
        ),
        confidence="medium",
        severity="warning",
        evidence=(
            Evidence(
                text=f"This run's peak: {size(forecast.peak)} of {size(forecast.limit)} "
                f"({forecast.peak / forecast.limit:.0%})",
                source="metrics",
            ),
        ),
    )


def _title_forecast(forecast: Forecast, *, near: bool) -> str:
    if near:
        return f"Within 5 % of the memory limit for {counted(forecast.near, 'run')}"
    runs = counted(forecast.runs_left or 0, "run")
    return f"At this growth, memory reaches the limit in about {runs}"


def _cause_forecast(forecast: Forecast, *, near: bool) -> str:
    parts = []
    if near:
        parts.append(
            f"The last {counted(forecast.near, 'good run')} had workers with {_NEAR:.0%} of "
            f"their limit or more; at {TERMINATED_AT:.0%} they are terminated."
        )
    if forecast.growth:
        parts.append(
            f"Over {counted(forecast.runs, 'good run')}, the peak has grown by "
            f"{forecast.growth:.1%} a run, to {size(forecast.peak)} of {size(forecast.limit)}."
        )
    if forecast.runs_left is not None and forecast.runs_left > 0:
        days = forecast.days_left or 0
        when = f", in {days:.0f} days" if days >= 1.5 else ""  # noqa: PLR2004
        parts.append(
            f"It reaches {size(TERMINATED_AT * forecast.limit)} in about "
            f"{counted(forecast.runs_left, 'run')}{when}."
        )
    return " ".join(parts)


@documented("more-memory-than-usual")
def MORE_MEMORY_THAN_USUAL(case: Case) -> Iterator[Finding]:
    if case.state == "running" or not case.history.good:
        return
    sketch = sketch_of(case)
    parts = more_memory(case.history.good, sketch)
    if not parts:
        return
    unusual = parts[0].unusual
    prefixes = [part for part in parts if part.prefix is not None]
    by_input = " with this much input" if unusual.by_input else ""
    limit, enough = sketch.measure("memory_limit"), unusual.value / 0.7
    of_limit = f", {unusual.value / limit:.0%} of its limit" if limit else ""
    among = ""
    if prefixes:
        names = quoted(part.prefix or "" for part in prefixes)
        among = f" Workers use more while tasks of {names} run."
    yield MORE_MEMORY_THAN_USUAL.found(
        f"A worker used {unusual.factor:.1f} times as much memory as usual",
        cause=(
            f"The peak was {size(unusual.value)}{of_limit}; {size(unusual.expected)} "
            f"was expected after {counted(unusual.runs, 'good run')}{by_input}, and up "
            f"to {size(unusual.bar)} would have been usual.{among}"
        ),
        remedy=(
            "Check what changed: larger partitions, "
            f"{'more threads per worker, ' if several_threads(case) else ''}code that keeps "
            "more in memory. If the growth is permanent, give workers "
            f"{size(enough)} each, so that this peak is 70 % of their limit."
            f"{beyond_host(case, round(enough))}"
        ),
        confidence="medium",
        severity="warning" if unusual.factor >= _GRAVE else "notice",
        subject=Subject(prefix=prefixes[0].prefix if prefixes else None),
        evidence=tuple(
            Evidence(
                text=f"'{part.prefix}': {size(part.unusual.value)} in its workers, "
                f"usually {size(part.unusual.expected)}",
                source="metrics",
            )
            for part in prefixes[:5]
        ),
    )


_NEAR = 0.90
"""Within 5 % of the limit of that."""

_LEAST_RUNS = 8
_MOST_RUNS = 60
_AHEAD = 30
_LEAST_GROWTH = 0.003
_DAY = 86_400.0


@dataclass(frozen=True, kw_only=True)
class Forecast:
    """The forecast of a job's peak memory if it keeps growing.

    Attributes:
        peak: Of this run, bytes.
        limit: Of a worker, bytes.
        near: How many runs in a row, this one included, came within 5 % of the end.
        growth: From run to run, as a share; 0: none that is to be distinguished from noise.
        runs_left: Runs until workers are terminated; None: not in sight.
        days_left: The same in days, by how often the job runs.
        ahead: How many runs `needed` looks ahead.
        needed: Bytes that a worker needs then, its peak being 80 % of it.
        runs: How many runs say so.
    """

    peak: float
    limit: float
    near: int
    growth: float
    runs_left: int | None
    days_left: float | None
    ahead: int
    needed: float
    runs: int


def forecast_of(earlier: Sequence[Sketch], sketch: Sketch) -> Forecast | None:
    """Return where the memory is going; None where memory or limit is not known.

    Args:
        earlier: Runs that ended well, the newest first.
    """
    peak, limit = sketch.measure("peak_memory"), sketch.measure("memory_limit")
    if not peak or not limit:
        return None
    runs = [sketch, *earlier][:_MOST_RUNS]
    known = [(each, p) for each in runs if (p := each.measure("peak_memory"))]
    growth, level = _growth([value for _, value in known])
    left = None
    if growth > _LEAST_GROWTH:
        to_go = math.log(TERMINATED_AT * limit / max(level, 1.0)) / math.log1p(growth)
        left = max(0, math.ceil(to_go))
    future = max(level * (1 + growth) ** _AHEAD, peak) if growth else peak
    return Forecast(
        peak=peak,
        limit=limit,
        near=_near([each for each, _ in known]),
        growth=growth,
        runs_left=left,
        days_left=None
        if left is None
        else left * _between([e for e, _ in known]) / _DAY,
        ahead=_AHEAD,
        needed=future / 0.8,
        runs=len(known),
    )


def _near(runs: Sequence[Sketch]) -> int:
    """Return how many of the newest runs in a row came near their limit."""
    number = 0
    for each in runs:
        peak, limit = each.measure("peak_memory"), each.measure("memory_limit")
        if not peak or not limit or peak < _NEAR * limit:
            break
        number += 1
    return number


def _growth(peaks: Sequence[float]) -> tuple[float, float]:
    """Return the growth from run to run, if it is more than noise, and its last value.

    Args:
        peaks: The newest first.
    """
    level = float(np.median(peaks[:5]))
    if len(peaks) < _LEAST_RUNS:
        return 0.0, level
    ys = np.log(np.array(peaks[::-1], float))
    xs = np.arange(len(ys), dtype=float)
    first, second = np.triu_indices(len(ys), 1)
    steps = ys[second] - ys[first]
    slope = float(np.median(steps / (xs[second] - xs[first])))
    # Kendall's test: of noise, as many pairs rise as fall.
    runs = len(ys)
    rising = float(np.sign(steps).sum())
    deviation = math.sqrt(runs * (runs - 1) * (2 * runs + 5) / 18)
    if slope <= 0 or rising / deviation < 3.3:  # noqa: PLR2004 - one time in 2,000
        return 0.0, level
    rest = float(np.median(ys - slope * xs))
    return math.expm1(slope), math.exp(rest + slope * xs[-1])


def _between(runs: Sequence[Sketch]) -> float:
    """Return the usual seconds from one run to the next."""
    moments = sorted(each.started for each in runs)
    return float(np.median(np.diff(moments))) if len(moments) > 1 else _DAY
