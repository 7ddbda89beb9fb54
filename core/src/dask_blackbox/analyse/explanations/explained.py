"""What a message of a library means: column, file, what was found and what was expected."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable
from dataclasses import dataclass

from dask_blackbox.formatting import listed
from dask_blackbox.patterns import bounded

_MOST = 3
_NAME = bounded(r"'([^']*)'|\"([^\"]*)\"|([^\s,'\"{}\[\]()]+)")


@dataclass(frozen=True, kw_only=True)
class Context:
    """Where an exception was raised.

    Attributes:
        exception: Qualified name of its class.
        message: Its text, as far as it arrived.
        traceback: Its traceback.
        file: The file or URL that was being read, if it is known.
        printed: What a program that failed had printed last, if nothing captured it.
        threads: How many tasks its worker runs at once; None: not known.
    """

    exception: str
    message: str
    traceback: str = ""
    file: str | None = None
    printed: str | None = None
    threads: int | None = None


@dataclass(frozen=True)
class Explained:
    """The meaning of a message, in one line, and how to fix it.

    Attributes:
        headline: A clause that names the thing: `column 'qty' is str, int64 expected`.
        fix: What to do, in sentences with code; None if the headline says it all.
        column: Name of the column that it is about.
        of_values: It is about the data's values.
        missing_file: The file that it says does not exist; what to do about it depends on
            where that was (`remedy_for_missing_file`).
    """

    headline: str
    fix: str | None = None
    column: str | None = None
    of_values: bool = False
    missing_file: str | None = None

    @property
    def is_about_data(self) -> bool:
        """Whether the cause is in the data itself, not in its location."""
        return self.column is not None or self.of_values


Explain = Callable[[re.Match[str], Context], Explained | None]
"""What makes an explanation of a line; None: it means something else here."""


def says(headline: str, fix: str | None = None, *, of_values: bool = False) -> Explain:
    """Return the explanation of a line whose groups are enough for it.

    Args:
        headline: With names of its groups in braces; `{place}` is ` in part-17.csv`, `{name}`
            and `{file}` the file that was read, without folders and whole.
        fix: Likewise.
    """

    def explain(found: re.Match[str], context: Context) -> Explained:
        groups = found.groupdict()
        words = {
            "file": context.file or "the object",
            "name": (context.file or "").rpartition("/")[2] or "the file",
            "place": place(context.file),
            **groups,
        }
        return Explained(
            headline.format(**words),
            None if fix is None else fix.format(**words),
            groups.get("column"),
            of_values,
        )

    return explain


def place(file: str | None) -> str:
    """Return ` in part-17.csv` for a file that is known, else nothing."""
    if not file:
        return ""
    name = file.rstrip("/").rpartition("/")[2]
    return f" in {name}" if name else ""


def columns_in(text: str | None) -> list[str]:
    """Return the names in a list as Python prints it: of `'a', 'b'`, of `{'a'}`, of `a, b`."""
    found = (one or two or three for one, two, three in _NAME.findall(text or ""))
    return [name for name in found if name and not name.startswith("dtype=")]


def named(noun: str, names: list[str]) -> str:
    """Return names with their noun: `column 'a'`, `columns 'a' and 'b'`."""
    shown = listed([f"'{name}'" for name in names], most=_MOST)
    return f"{noun if len(names) == 1 else noun + 's'} {shown}"


_TABLE = bounded(r"^[ \t]*(?:\+[-=+]{2,}\+|\|.{0,}\|)[ \t]*$\n?", re.MULTILINE)
_PREFIX = bounded(
    r"^\[?(?:\d{4}-\d\d-\d\d[T ])?\d\d:\d\d:\d\d(?:[.,]\d+)?\]?\s+(?=\S)(?![a-z]+ )",
    re.MULTILINE,
)
"""The moment of a line of a log; not the subject of a sentence (`… is a nonexistent time`)."""
_SOURCE = bounded(
    r"(?<![\w/])(?:/|\.\./|\w+/)[\w./+-]+\.(?:cc|cpp|cu|cuh|h|hpp|c):\d+:?\s*"
)
_TAIL = bounded(
    r"(?:Stack trace:|\[bt\] \(\d|\(Background on this error at:|\[SQL: "
    r"|\n[ \t]*LINE \d+:)[\s\S]*"
)
# What unittest and pytest append to a comparison that failed; values may have lines of their own.
_WHERE = bounded(r"\n[ \t]*\+ +(?:where|and) [\s\S]*")
_DIFF_LINE = bounded(r"[-+?] ")
_DIFF_MARKS = bounded(r"\?[-+^ ]+")
_DRIVER = bounded(r"^\((?:[\w]+\.)+\w*(?:Error|Exception|Warning)\) ")


def _joined(message: str) -> str:
    """Return the texts of an exception with several arguments, which prints as a tuple."""
    if not (message.startswith("(") and message.endswith(")")):
        return message
    try:
        parts = ast.literal_eval(message)
    except (ValueError, SyntaxError, MemoryError, RecursionError):
        return message
    several = isinstance(parts, tuple) and all(isinstance(each, str) for each in parts)
    return " ".join(each.strip() for each in parts) if several and parts else message


def _without_diff(text: str) -> str:
    """Return a text without the lines of differences that unittest prints (`- `, `+ `, `? ^`)."""
    first, *lines = text.split("\n")
    kept, block = [first], list[str]()
    for line in [*lines, None]:
        if line is not None and (not line or _DIFF_LINE.match(line)):
            block.append(line)
            continue
        if not any(map(_DIFF_MARKS.fullmatch, block)):
            kept += block
        block = []
        if line is not None:
            kept.append(line)
    return "\n".join(kept)


def in_one_line(message: str) -> str:
    """Return a message as one line that says what happened."""
    message = _joined(message)
    text = _DRIVER.sub("", _TAIL.sub("", _without_diff(_WHERE.sub("", message))))
    text = _SOURCE.sub("", _PREFIX.sub("", _TABLE.sub("", text)))
    return " ".join(text.split()) or " ".join(message.split())
