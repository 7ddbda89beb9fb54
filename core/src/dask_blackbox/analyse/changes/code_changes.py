"""Where code has changed: which function, in which file, at which line.

A hash of a prefix or of a module says that it runs other code.  The parts of the job's
own modules (functions, methods, constants) say which, and a prefix knows the names of
those that its tasks run.
"""

from __future__ import annotations

from collections.abc import Iterable
from difflib import unified_diff
from itertools import islice

from dask_blackbox.analyse.changes.code_hashes import comparable
from dask_blackbox.analyse.changes.prefixes import functions_of
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

    def of_prefix(self, name: str) -> str:
        """Return what of a prefix's functions has changed, or what was given to them."""
        own, beside = self._changes_of_prefix(name)
        if own:
            return self._listed(own)
        return f"given by {self._listed(beside)}" if beside else ""

    def _changes_of_prefix(self, name: str) -> tuple[list[str], list[str]]:
        """Return which functions of a prefix have changed, and what else in their modules."""
        runs = functions_of(name, self._before, self._after)
        modules = {_module(each) for each in runs}
        beside = [each for each in self.changed if _module(each) in modules]
        return [each for each in beside if each in runs], beside

    def of_module(self, name: str) -> str:
        """Return what of a module has changed."""
        return self._listed(self._changes_of_module(name))

    def _changes_of_module(self, name: str) -> list[str]:
        return [each for each in self.changed if _module(each) == name]

    def of_callable(self, name: str) -> str:
        """Return the place of a callable that has changed."""
        return self._listed(self._changes_of_callable(name))

    def _changes_of_callable(self, name: str) -> list[str]:
        return [each for each in self.changed if each.partition(":")[2] == name]

    def diff(self, what: str) -> str | None:
        """Return a unified diff of what changed; None where no source was recorded.

        Args:
            what: `prefix tax`, `module shop` or `callable main`.
        """
        kind, _, name = what.partition(" ")
        if kind == "prefix":
            own, beside = self._changes_of_prefix(name)
            names = own or beside
        else:
            names = (
                self._changes_of_module(name)
                if kind == "module"
                else self._changes_of_callable(name)
            )
        known = self._before.sources.keys() | self._after.sources.keys()
        reported = [self._diff(each) for each in names if each in known]
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
