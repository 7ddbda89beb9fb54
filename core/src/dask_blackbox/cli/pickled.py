"""What a pickle would load, and where its home differs from here: without unpickling."""

from __future__ import annotations

import io
import pickletools
from collections.abc import Iterable, Mapping
from typing import Any

__all__ = ["differences", "names_in"]

_WEIGHTY = (
    "dask",
    "distributed",
    "cloudpickle",
    "numpy",
    "pandas",
    "pyarrow",
    "polars",
)
_TEXTS = frozenset(("SHORT_BINUNICODE", "BINUNICODE", "BINUNICODE8", "UNICODE"))
_GETS = frozenset(("BINGET", "LONG_BINGET", "GET"))


def names_in(pickled: bytes | memoryview) -> set[str]:
    """Return the dotted names that a pickle would import, as far as they can be read."""
    found: set[str] = set()
    memo: list[object] = []
    last: list[object] = []
    try:
        for opcode, arg, _ in pickletools.genops(io.BytesIO(pickled)):
            name = opcode.name
            if name == "MEMOIZE":
                memo.append(last[-1] if last else None)
                continue
            if name == "GLOBAL":
                found.add(str(arg).replace(" ", "."))
            elif name == "STACK_GLOBAL" and len(last) > 1:
                found.add(f"{last[-2]}.{last[-1]}")
            if name in _TEXTS:
                last.append(arg)
            elif name in _GETS and isinstance(arg, int) and arg < len(memo):
                last.append(memo[arg])
            else:
                last.append(None)
            del last[:-2]
    except ValueError:  # not a pickle: unpickling will say so
        pass
    return found


def differences(
    there: Mapping[str, Any], here: Mapping[str, Any], modules: Iterable[str]
) -> list[str]:
    """Return what differs between the worker's environment and this one, gravest first.

    Args:
        there: Of the worker.
        here: Of the interpreter that is to run the task.
        modules: Top-level modules that the pickle names.
    """
    found = []
    old, new = str(there.get("python")), str(here.get("python"))
    if old != new:
        found.append(f"Python {old} on the worker, {new} here{_bytecode(old, new)}")
    was, now = there.get("packages") or {}, here.get("packages") or {}
    weighty = [*_WEIGHTY, *(each.lower().replace("_", "-") for each in modules)]
    reported = dict.fromkeys(name for name in weighty if was.get(name) != now.get(name))
    found += [
        f"{name} {was[name]} on the worker, {now.get(name, 'missing')} here"
        for name in reported
        if name in was
    ]
    others = [n for n in was if n not in reported and n in now and was[n] != now[n]]
    if others:
        shown = ", ".join(f"{n} {was[n]} → {now[n]}" for n in others[:5])
        more = f" and {len(others) - 5} more" if len(others) > 5 else ""  # noqa: PLR2004
        found.append(f"different versions of {shown}{more}")
    return found


def _bytecode(old: str, new: str) -> str:
    if old.split(".")[:2] == new.split(".")[:2]:
        return ""
    return (
        " (functions pickled by value, such as those of a script, contain bytecode, "
        "which another minor version cannot run: use --python)"
    )
