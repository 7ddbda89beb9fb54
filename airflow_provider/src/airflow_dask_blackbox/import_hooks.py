"""Call a function once a module has been imported."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib.machinery import ModuleSpec
from typing import Any

__all__ = ["after_import"]


@contextmanager
def after_import(name: str, action: Callable[[], None]) -> Iterator[None]:
    """Call `action` when a module is there: now, or as soon as it is imported in the block.

    Args:
        name: Of the module.
        action: What to do, once.
    """
    if name in sys.modules:
        action()
        yield
        return
    finder = _Finder(name, action)
    sys.meta_path.insert(0, finder)
    try:
        yield
    finally:
        sys.meta_path.remove(finder)


class _Finder:
    def __init__(self, name: str, action: Callable[[], None]) -> None:
        self._name, self._action = name, action

    def find_spec(self, name: str, path: Any, target: Any = None) -> ModuleSpec | None:
        if name != self._name:
            return None
        # Only those after this one: the one before may be such a finder as well, and has
        # asked this one.
        for finder in sys.meta_path[sys.meta_path.index(self) + 1 :]:
            if not hasattr(finder, "find_spec"):
                continue
            spec = finder.find_spec(name, path, target)
            if spec is not None and spec.loader is not None:
                self._act_after(spec.loader)
                return spec
        return None

    def _act_after(self, loader: Any) -> None:
        execute = loader.exec_module

        def exec_module(module: object) -> None:
            execute(module)
            self._action()

        loader.exec_module = exec_module
