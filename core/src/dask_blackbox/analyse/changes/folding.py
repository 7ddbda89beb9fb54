"""Changes that follow from another one are folded under it.

A package that was upgraded explains the code that differs inside it and in the prefixes
that call it; a commit explains the functions that it changed; another Python the packages
that came with it; a parameter the value that a function was given, and the size of what it
asks for.  A row of `_CAUSES` says which kind of change can explain which, and what in the two
runs has to show that it does: where nothing shows it, both stand side by side.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Sequence

from dask_blackbox.analyse.changes.code_changes import Places
from dask_blackbox.analyse.changes.differences import Difference
from dask_blackbox.analyse.changes.prefixes import functions_of, values_of
from dask_blackbox.analyse.changes.relevance import is_of_code, modules_of_package
from dask_blackbox.sketch import Sketch

_SAME_FACTOR = 0.02  # of the logarithms
_NUMBER = re.compile(r"-?[\d,]*\.?\d+")


class Causes:
    """Which change between two runs explains which other."""

    def __init__(self, before: Sketch, after: Sketch) -> None:
        self._before, self._after = before, after
        self._places = Places(before, after)

    def of(self, effect: Difference, found: Sequence[Difference]) -> Difference | None:
        """Return the change among `found` that explains another one; None if none does."""
        for kind, kinds, shows in _CAUSES:
            if effect.kind not in kinds:
                continue
            for cause in found:
                if (
                    cause.kind == kind
                    and cause != effect
                    and shows(self, cause, effect)
                ):
                    return cause
        return None

    def of_package(self, cause: Difference, effect: Difference) -> bool:
        """Say whether code differs because its package, or one that it calls, does."""
        kind, _, name = effect.what.partition(" ")
        roots = modules_of_package(cause.what.partition(" (")[0])
        if kind in ("module", "callable"):
            return _root(name) in roots
        if kind != "prefix" or not self._places.known:
            return False
        functions = functions_of(name, self._before, self._after)
        own = {each for each in functions if _root(each) not in roots}
        if own & self._places.changed.keys():
            return False  # a function of its own is another one, too
        called = {_root(each) for each in functions} | {
            each.lower()
            for run in (self._before, self._after)
            for prefix in run.prefixes
            if prefix.name == name
            for each in prefix.libraries
        }
        return bool(called & roots)

    def of_commit(self, cause: Difference, effect: Difference) -> bool:
        """Say whether code came with a commit: nothing was uncommitted, then or now."""
        clean = all(
            run.facts.get("code", {}).get("uncommitted changes") == "no"
            for run in (self._before, self._after)
        )
        return cause.what == "git commit" and clean and is_of_code(effect)

    def of_python(self, cause: Difference, effect: Difference) -> bool:
        """Say whether packages differ where Python does."""
        if cause.what == "Python":
            return True
        role = cause.what.rpartition(" ")[2]
        return effect.what.endswith(f"({role})")

    def of_parameter(self, cause: Difference, effect: Difference) -> bool:
        """Say whether a parameter asks for what differs: by its name, number or factor."""
        if effect.kind == "parameters":
            return self._is_given_on(cause, effect)
        was, now = _number(cause.before), _number(cause.after)
        if was is None or now is None:
            return False
        counts = _number(effect.before), _number(effect.after)
        if (was, now) == counts and effect.what != "bytes":
            return True
        if effect.by is None or was <= 0 or now <= 0:
            return False
        return abs(math.log(now / was) - effect.by) < _SAME_FACTOR

    def _is_given_on(self, cause: Difference, effect: Difference) -> bool:
        """Say whether a run's parameter is what a function was given."""
        if cause.given or not effect.given:
            return False
        name = effect.given.rpartition(":")[2]
        if _plain(cause.what.rpartition(".")[2]) == _plain(name):
            return True
        pairs = [_number(each) for each in (cause.before, cause.after)]
        return None not in pairs and pairs == [
            _number(values_of(effect.given, run)) for run in (self._before, self._after)
        ]


def _root(function: str) -> str:
    return function.partition(":")[0].partition(".")[0].lower()


def _plain(name: str) -> str:
    return name.lstrip("-").replace("-", "_").lower()


def _number(text: str | None) -> float | None:
    """Return the number that a value is, or begins with: of `380 partitions`, 380."""
    first = (text or "").partition(" ")[0]
    return float(first.replace(",", "")) if _NUMBER.fullmatch(first) else None


_CAUSES: tuple[
    tuple[str, tuple[str, ...], Callable[[Causes, Difference, Difference], bool]], ...
] = (
    ("package", ("code",), Causes.of_package),
    ("python", ("package",), Causes.of_python),
    ("parameters", ("parameters", "input-size", "graph-shape"), Causes.of_parameter),
    ("code", ("code",), Causes.of_commit),
)
"""Kind of cause, kinds of what it can explain, and what shows that it does: the surest first."""
