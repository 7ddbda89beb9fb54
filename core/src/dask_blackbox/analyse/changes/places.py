"""Where code has changed: which function, in which file, at which line.

A hash of a prefix or of a module says that it runs other code.  The parts of the job's
own modules (functions, methods, constants) say which, and a prefix knows the names of
those that its tasks run.
"""

from __future__ import annotations

from collections.abc import Iterable

from dask_blackbox.analyse.changes.marks import comparable
from dask_blackbox.analyse.words import listed
from dask_blackbox.sketch import Sketch

__all__ = ["Places"]

_LOCAL = ".<locals>"
_MOST = 3


class Places:
    """What of the job's own code is not as it was.

    Args:
        before: A run.
        after: A later one.
    """

    def __init__(self, before: Sketch, after: Sketch) -> None:
        self._before, self._after = before, after
        self.changed: dict[str, str] = {}
        """Place (`shop.py:27`) by module and name, of what is another or new."""
        if not comparable(before, after):
            return
        known = {_module(name) for name in before.parts}
        for name, told in after.parts.items():
            place, _, digest = told.rpartition(" ")
            was = before.parts.get(name, "").rpartition(" ")[2]
            if digest != was and _module(name) in known:
                self.changed[name] = place

    def of_prefix(self, name: str) -> str:
        """Return what of a prefix's functions has changed, or what was given to them."""
        runs = {
            function.partition(_LOCAL)[0]
            for sketch in (self._before, self._after)
            for each in sketch.prefixes
            if each.name == name
            for function in each.functions
        }
        own = [each for each in self.changed if each in runs]
        if own:
            return self._said(own)
        modules = {_module(each) for each in runs}
        beside = [each for each in self.changed if _module(each) in modules]
        return f"given by {self._said(beside)}" if beside else ""

    def of_module(self, name: str) -> str:
        """Return what of a module has changed."""
        return self._said(each for each in self.changed if _module(each) == name)

    def of_callable(self, name: str) -> str:
        """Return where a callable stands that has changed."""
        return self._said(
            each for each in self.changed if each.partition(":")[2] == name
        )

    def _said(self, names: Iterable[str]) -> str:
        said = [f"{each.partition(':')[2]} at {self.changed[each]}" for each in names]
        return listed(said, most=_MOST) if said else ""


def _module(name: str) -> str:
    return name.partition(":")[0]
