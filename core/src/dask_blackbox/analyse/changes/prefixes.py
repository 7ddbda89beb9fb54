"""What changed in the graphs: prefixes that are new, gone or renamed, or run other code."""

from __future__ import annotations

import math
from collections.abc import Iterator

from dask_blackbox.analyse.changes.code_changes import alike, shown
from dask_blackbox.formatting import counted
from dask_blackbox.sketch import REST, PrefixSketch, Sketch

_SCALED = math.log(1.25)
_MOST = 12


def code_of_prefixes(
    before: Sketch, after: Sketch
) -> Iterator[tuple[str, str | None, str | None]]:
    """Yield prefixes whose functions are others than before: what, before, after."""
    old, new = _by_name(before), _by_name(after)
    for name in sorted(old.keys() & new.keys()):
        was, now = old[name].code, new[name].code
        if was and now and was != now and alike(was, now):
            yield f"prefix {name}", shown(was), shown(now)


def given_to_prefix(name: str, before: Sketch, after: Sketch) -> list[str]:
    """Return the values given to functions of a prefix that changed, if nothing else did.

    Returns:
        Of each such value `module:function:name`; nothing if the functions are others, too,
        or if that is not known.
    """
    was, now = (_by_name(run).get(name) for run in (before, after))
    if (
        was is None
        or now is None
        or not was.code_without_values
        or was.code_without_values != now.code_without_values
    ):
        return []
    return sorted(
        each
        for each in was.values.keys() & now.values.keys()
        if was.values[each] != now.values[each]
    )


def values_of(given: str, run: Sketch) -> str | None:
    """Return the value that a function was given in a run; None if it is not known."""
    found = (each.values[given] for each in run.prefixes if given in each.values)
    return next(found, None)


_Shape = tuple[str, str | None, str | None, float | None]


def shape_of_graphs(before: Sketch, after: Sketch) -> Iterator[_Shape]:
    """Yield what, before, after and growth of the graphs' parts.

    A prefix that runs the same code under another name is no change, nor is one to which
    a run that broke off has not come.  Counts that follow the number of partitions are
    none either: the input's size is reported elsewhere.
    """
    old, new = _by_name(before), _by_name(after)
    if not _planned(old) or not _planned(new):
        return
    if all(each.name != REST for each in (*before.prefixes, *after.prefixes)):
        yield from _added_and_removed(before, after, old, new)
    if ended_early(after, before) or ended_early(before, after):
        return
    by = _growth_beyond_the_input(before, after, old, new)
    if by is not None:
        yield (
            "tasks per partition",
            _tasks_each(old, before.inputs.partitions),
            _tasks_each(new, after.inputs.partitions),
            by,
        )
    if before.graphs and after.graphs:
        by = math.log(after.graphs / before.graphs)
        if abs(by) >= _SCALED and not _follows(by, before, after):
            was, now = (counted(each.graphs, "graph") for each in (before, after))
            yield "graphs", was, now, by


def _added_and_removed(
    before: Sketch,
    after: Sketch,
    old: dict[str, PrefixSketch],
    new: dict[str, PrefixSketch],
) -> Iterator[_Shape]:
    names = renamed(before, after)
    gone = [n for n in sorted(old.keys() - new.keys()) if n not in names]
    come = [n for n in sorted(new.keys() - old.keys()) if n not in names.values()]
    if not ended_early(after, before):
        for name in [n for n in gone if old[n].planned][:_MOST]:
            yield f"prefix {name}", counted(old[name].planned, "task"), None, None
    if not ended_early(before, after):
        for name in [n for n in come if new[n].planned][:_MOST]:
            yield f"prefix {name}", None, counted(new[name].planned, "task"), None


def ended_early(sketch: Sketch, other: Sketch) -> bool:
    """Return whether a run ended before it came to all that the other one did."""
    return not sketch.good and sketch.graphs < other.graphs


def _follows(by: float, before: Sketch, after: Sketch) -> bool:
    """Return whether a growth is that of the partitions: futures make a graph for each."""
    old, new = before.inputs.partitions, after.inputs.partitions
    if not old or not new:
        return False
    grown = math.log(new / old)
    return grown * by > 0 and abs(by) <= abs(grown)


def _tasks_each(prefixes: dict[str, PrefixSketch], partitions: int | None) -> str:
    """Return how many tasks there are for each partition; all, if those are not known."""
    planned = _planned(prefixes)
    if not partitions:
        return counted(planned, "task")
    return f"{planned / partitions:.3g} tasks"


def _growth_beyond_the_input(
    before: Sketch,
    after: Sketch,
    old: dict[str, PrefixSketch],
    new: dict[str, PrefixSketch],
) -> float | None:
    scaled = 0.0
    if before.inputs.partitions and after.inputs.partitions:
        scaled = math.log(after.inputs.partitions / before.inputs.partitions)
    by = math.log(_planned(new) / _planned(old)) - scaled
    return by if abs(by) >= _SCALED else None


def renamed(before: Sketch, after: Sketch) -> dict[str, str]:
    """Return prefixes that are gone, and the new name of their code.

    Only where one prefix that is gone and one that is new run the same code, which no
    other of them does.
    """
    old, new = _by_name(before), _by_name(after)
    gone = _by_code(each for name, each in old.items() if name not in new)
    come = _by_code(each for name, each in new.items() if name not in old)
    return {
        gone[code][0]: come[code][0]
        for code in gone.keys() & come.keys()
        if len(gone[code]) == len(come[code]) == 1
    }


def _by_code(prefixes: Iterator[PrefixSketch]) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for each in prefixes:
        if each.code:
            found.setdefault(each.code, []).append(each.name)
    return found


def _by_name(sketch: Sketch) -> dict[str, PrefixSketch]:
    return {each.name: each for each in sketch.prefixes if each.name != REST}


def _planned(prefixes: dict[str, PrefixSketch]) -> int:
    return sum(each.planned for each in prefixes.values())
