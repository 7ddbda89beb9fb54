"""Functions of Python's that are replaced while something is recorded, and put back afterwards."""

from __future__ import annotations

from typing import Any

__all__ = ["Replacements"]


class Replacements:
    """Attributes that were replaced in this process, each with what was there before.

    Code that holds a reference to a replacement keeps it: it goes on calling what it replaced.
    """

    def __init__(self) -> None:
        self._made: list[tuple[Any, str, Any, Any]] = []

    def __bool__(self) -> bool:
        """Return whether something is replaced now."""
        return bool(self._made)

    def replace(self, owner: Any, name: str, replacement: Any) -> None:
        """Put a function in the place of another one."""
        self._made.append((owner, name, vars(owner)[name], replacement))
        setattr(owner, name, replacement)

    def undo(self) -> None:
        """Put back what was there, unless somebody has replaced ours meanwhile."""
        left = []
        while self._made:
            owner, name, before, ours = made = self._made.pop()
            if vars(owner).get(name) is ours:
                setattr(owner, name, before)
            else:  # theirs calls ours: it stays, and is not made again
                left.append(made)
        self._made.extend(reversed(left))
