"""Attributes of other libraries that are replaced temporarily and restored."""

from __future__ import annotations


class Patches:
    """The attributes that one module has replaced; false if there are none."""

    def __init__(self) -> None:
        self._replaced: list[tuple[object, str, object, object]] = []

    def __bool__(self) -> bool:
        return bool(self._replaced)

    def replace(self, owner: object, name: str, before: object, after: object) -> None:
        """Set an attribute, and remember what it was."""
        self._replaced.append((owner, name, before, after))
        setattr(owner, name, after)

    def restore(self) -> None:
        """Restore the former values, unless other code has replaced them since."""
        while self._replaced:
            owner, name, before, after = self._replaced.pop()
            if getattr(owner, name, None) is after:
                setattr(owner, name, before)
