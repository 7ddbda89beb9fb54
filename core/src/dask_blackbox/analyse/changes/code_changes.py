"""Where code has changed: which function, in which file, at which line.

A hash of a prefix or of a module says that it runs other code.  The parts of the job's
own modules (functions, methods, constants) say which, and a prefix knows the names of
those that its tasks run.

A hash begins with its dialect, the version of Python that made the bytecode
(`2py311.0123456789ab`).  Of two dialects, it is unknown whether the code is the same.
One that begins with `lib` knows only which functions of a library a task runs.
"""

from __future__ import annotations

from collections.abc import Iterable
from difflib import unified_diff
from itertools import islice

from dask_blackbox.formatting import listed
from dask_blackbox.sketch import Sketch

_MOST = 3
_MOST_DIFFS = 10
_MOST_LINES = 60  # of one function


class Places:
    """What of the job's own code is not as it was."""

    def __init__(self, before: Sketch, after: Sketch) -> None:
        self._before, self._after = before, after
        self.changed: dict[str, str] = {}
        """Place (`shop.py:27`) by module and name, of what is another or new."""
        self.known = comparable(before, after)
        """Whether the modules of both runs are known, so that they can be compared."""
        if not self.known:
            return
        known = {_module(name) for name in before.parts}
        for name, reported in after.parts.items():
            place, _, digest = reported.rpartition(" ")
            was = before.parts.get(name, "").rpartition(" ")[2]
            if digest != was and _module(name) in known:
                self.changed[name] = place

    def of(self, what: str) -> str:
        """Return what of some code has changed; of a prefix, else what gave it other values.

        Args:
            what: `prefix tax`, `module shop` or `callable main`.
        """
        own, beside = self._changes_of(what)
        given = f"given by {self._listed(beside)}" if beside else ""
        return self._listed(own) or given

    def _changes_of(self, what: str) -> tuple[list[str], list[str]]:
        """Return what of some code has changed, and what else in the modules of a prefix."""
        kind, _, name = what.partition(" ")
        if kind == "prefix":
            runs = functions_of(name, self._before, self._after)
            modules = {_module(each) for each in runs}
            beside = [each for each in self.changed if _module(each) in modules]
            return [each for each in beside if each in runs], beside
        place = 0 if kind == "module" else 2
        return [each for each in self.changed if each.partition(":")[place] == name], []

    def diff(self, what: str) -> str | None:
        """Return a unified diff of what changed, as of `of`; None if no source was recorded."""
        own, beside = self._changes_of(what)
        known = self._before.sources.keys() | self._after.sources.keys()
        reported = [self._diff(each) for each in own or beside if each in known]
        return "\n".join(filter(None, reported[:_MOST_DIFFS])) or None

    def _diff(self, name: str) -> str:
        old, new = (run.sources.get(name) for run in (self._before, self._after))
        if old is None and name in self._before.parts:
            return ""  # it was there, and its source was not recorded
        label = f"{name.partition(':')[2]} at {self.changed[name]}"
        lines = unified_diff(
            (old or "").splitlines(),
            (new or "").splitlines(),
            label,
            label,
            n=2,
            lineterm="",
        )
        return "\n".join(islice(lines, _MOST_LINES))

    def _listed(self, names: Iterable[str]) -> str:
        parts = [f"{each.partition(':')[2]} at {self.changed[each]}" for each in names]
        return listed(parts, most=_MOST) if parts else ""


def _module(name: str) -> str:
    return name.partition(":")[0]


def functions_of(name: str, *runs: Sketch) -> set[str]:
    """Return the user's own functions that a prefix runs, in any of some runs."""
    return {
        function.partition(".<locals>")[0]
        for run in runs
        for each in run.prefixes
        if each.name == name
        for function in each.functions
    }


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
