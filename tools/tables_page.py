"""Print the section on events of docs/tables.md from the types.

.venvs/core/bin/python tools/tables_page.py          writes it
.venvs/core/bin/python tools/tables_page.py --check  fails if it is not current
"""

from __future__ import annotations

import inspect
import re
import sys
import types
import typing
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
from dask_blackbox.events import KINDS, Event

PAGE = Path(__file__).parents[1] / "docs" / "tables.md"
BEGIN = "<!-- printed from the types: tools/tables_page.py -->"

_COMMON = {field.name for field in msgspec.structs.fields(Event)}
_PLAIN = {
    str: "text",
    int: "integer",
    float: "number",
    bool: "boolean",
    Any: "anything",
    object: "anything",
}
_ATTRIBUTE = re.compile(r"^    (\w+): (.*(?:\n        .*)*)", re.MULTILINE)


def page() -> str:
    """Return the page as it should be."""
    head, found, _ = PAGE.read_text().partition(BEGIN)
    if not found:
        raise SystemExit(f"{PAGE} has no line {BEGIN}")
    return "\n".join((head + BEGIN, *_section()))


def _section() -> Iterator[str]:
    for kind, struct in sorted(KINDS.items()):
        yield f"\n### `{kind}`: `{struct.__name__}`\n"
        yield _summary(struct)
        parts: dict[str, Any] = {}
        rows = list(_rows(struct, parts))
        if rows:
            yield "\n| field | type | meaning |\n|---|---|---|"
            yield from rows
        for name, part in parts.items():
            fields = ", ".join(f"`{f}` ({lower})" for f, _, lower in _fields(part, {}))
            yield f"\n`{name}`: {_uncapitalised(_summary(part)).rstrip('.')}. {fields}"
    yield ""


def _rows(struct: Any, parts: dict[str, Any]) -> Iterator[str]:
    for name, kind, meaning in _fields(struct, parts):
        yield f"| `{name}` | {kind} | {meaning} |"


def _fields(struct: Any, parts: dict[str, Any]) -> Iterator[tuple[str, str, str]]:
    common = _COMMON if issubclass(struct, Event) else ()
    documented = {
        name: " ".join(text.split())
        for base in reversed(struct.__mro__)
        for name, text in _ATTRIBUTE.findall(inspect.cleandoc(base.__doc__ or ""))
        if issubclass(base, msgspec.Struct) and name not in common
    }
    declared = [f for f in msgspec.structs.fields(struct) if f.name not in common]
    if list(documented) != [field.name for field in declared]:
        raise SystemExit(f"{struct.__name__} documents {list(documented)}")
    for field in declared:
        meaning = _uncapitalised(documented[field.name]).rstrip(".")
        yield field.name, _type(field.type, parts), meaning


def _type(kind: Any, parts: dict[str, Any]) -> str:
    arguments = typing.get_args(kind)
    if typing.get_origin(kind) in (types.UnionType, typing.Union):
        some = [each for each in arguments if each is not types.NoneType]
        return " or ".join(dict.fromkeys(_type(each, parts) for each in some))
    if typing.get_origin(kind) is tuple:
        return f"list of {_type(arguments[0], parts)}"
    if typing.get_origin(kind) is dict:
        return f"object of {_type(arguments[1], parts)}"
    if isinstance(kind, type) and issubclass(kind, msgspec.Struct):
        parts[kind.__name__] = kind
        list(_fields(kind, parts))  # those inside it
        return f"`{kind.__name__}`"
    return _PLAIN[kind]


def _summary(struct: Any) -> str:
    text = (inspect.getdoc(struct) or "").partition("\nAttributes:")[0]
    return " ".join(text.split())


def _uncapitalised(text: str) -> str:
    first = text.split(maxsplit=1)[0] if text else ""
    plain = first[1:].islower() or first in ("A", "I")
    return text[:1].lower() + text[1:] if plain else text


def main() -> int:
    """Write the page, or say whether it is current."""
    wanted = page()
    if "--check" in sys.argv[1:]:
        return int(PAGE.read_text() != wanted)
    PAGE.write_text(wanted)
    return 0


if __name__ == "__main__":
    sys.exit(main())
