"""What of a run is unusual for its job: how long it took, how much memory it had."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

from dask_blackbox.analyse.baseline import Unusual, usual_of
from dask_blackbox.sketch import REST, PrefixSketch, Sketch

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
        sketch: A run that ended well.
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
        # On a host that others keep busy, only this tells a slow task from a slow night.
        each = own if own is not None and own.factor >= _LARGE_SHARE else part
        if each and (each.value - each.expected) * prefix.tasks > _LEAST_SECONDS:
            reported = UnusualPart(prefix.name, each, prefix.tasks, cpu=part is None)
            found.append(reported)
    return found


def more_memory(earlier: Sequence[Sketch], sketch: Sketch) -> list[UnusualPart]:
    """Return where unusually much memory was used: by the run, then by prefixes.

    Args:
        earlier: Runs that ended well, the newest first.
        sketch: The run, however it ended.
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
