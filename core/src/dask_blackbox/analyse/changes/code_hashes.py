"""Hashes of code, as capture makes them: which of them can be compared.

A hash begins with its dialect, the version of Python that made the bytecode
(`2py311.0123456789ab`).  Of two dialects, it is unknown whether the code is the same.
One that begins with `lib` knows only which functions of a library a task runs.
"""

from __future__ import annotations

from dask_blackbox.sketch import Sketch

MARKED = ("callable ", "module ")
"""What of the facts of a run's code has marks for its values."""

_LIBRARY = "lib"
Mark = str
"""One hash, or several of them joined by `+`."""


def incomparable(before: Sketch, after: Sketch) -> list[str]:
    """Return the kinds of facts that one of two runs lacks, or has in another form."""
    kinds = {*before.unknown, *after.unknown}
    if (before.inputs.partitions is None) != (after.inputs.partitions is None):
        kinds.add("input-size")  # one of them ended before it read, or never reads
    old, new = _marks(before), _marks(after)
    if any(not alike(old[name], new[name]) for name in old.keys() & new.keys()):
        kinds.add("code")
    return sorted(kinds)


def comparable(before: Sketch, after: Sketch) -> bool:
    """Return whether the modules of two runs were hashed in one dialect, as far as they were."""
    reported: list[set[str]] = [
        {d for what, mark in run.facts.get("code", {}).items()
         if what.startswith("module ") for d in _dialects(mark)}
        for run in (before, after)
    ]  # fmt: skip
    return bool(reported[0]) and reported[0] == reported[1]


def _marks(sketch: Sketch) -> dict[str, Mark]:
    """Return all hashes of a run: of its prefixes, modules and callable."""
    code = sketch.facts.get("code", {})
    marks = {what: mark for what, mark in code.items() if what.startswith(MARKED)}
    return marks | {f"prefix {p.name}": p.code for p in sketch.prefixes if p.code}


def alike(was: Mark, now: Mark) -> bool:
    """Return whether two marks are of one dialect, so that they can be compared."""
    old, new = _dialects(was), _dialects(now)
    own = (old | new) - {_LIBRARY}
    # A library's function is another one than any of the user's own.
    return old == new or (len(own) == 1 and own != {""})


def is_hash_of_code(mark: Mark | None) -> bool:
    """Return whether it is a hash of what a task does, not only of its name."""
    return mark is not None and _LIBRARY not in _dialects(mark)


def shown(mark: Mark) -> str:
    """Return a mark without its dialect, for people."""
    return "+".join(each.rpartition(".")[2] for each in mark.split("+"))


def _dialects(mark: Mark) -> set[str]:
    return {each.rpartition(".")[0] for each in mark.split("+")}
