"""The page's ES modules as one script: a page that needs no network imports nothing.

Each module keeps a scope of its own; what it exports is visible to those after it.
"""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path

__all__ = ["MODULES", "script_of"]

MODULES = (
    "unpack", "run", "view", "period", "chart", "waits", "rows", "overview", "curves", "pane", "tables", "flames", "main",
)  # fmt: skip
"""The modules, each after those that it imports; the last one waits for what it unpacks."""

_IMPORT = re.compile(r"^import .*;\n", re.MULTILINE)
_EXPORT = re.compile(
    r"^export (?P<kind>const|function|async function|class) "
    r"(?P<names>\{[^}]*\}|\w+)",
    re.MULTILINE,
)


@cache
def script_of(folder: Path) -> str:
    """Return the script that the modules of a folder make."""
    parts = [(folder / f"{name}.js").read_text(encoding="utf-8") for name in MODULES]
    return "\n".join([*map(_scoped, parts[:-1]), _IMPORT.sub("", parts[-1])])


def _scoped(module: str) -> str:
    body = _IMPORT.sub("", module)
    exported = [
        name.strip()
        for found in _EXPORT.finditer(body)
        for name in found["names"].strip("{} ").split(",")
    ]
    body = _EXPORT.sub(r"\g<kind> \g<names>", body)
    names = ", ".join(exported)
    return f"const {{ {names} }} = (() => {{\n{body}\nreturn {{ {names} }};\n}})();\n"
