"""A message in one line: without tables, timestamps, source paths and native stacks."""

from __future__ import annotations

import re

__all__ = ["in_one_line"]

_TABLE = re.compile(r"^\s*(?:\+[-=+]{2,}\+|\|.*\|)\s*$\n?", re.MULTILINE)
_PREFIX = re.compile(
    r"^\[?(?:\d{4}-\d\d-\d\d[T ])?\d\d:\d\d:\d\d(?:[.,]\d+)?\]?\s+(?=\S)", re.MULTILINE
)
_SOURCE = re.compile(
    r"(?<![\w/])(?:/|\.\./|\w+/)[\w./+-]+\.(?:cc|cpp|cu|cuh|h|hpp|c):\d+:?\s*"
)
_TAIL = re.compile(
    r"\n?\s*(?:Stack trace:|\[bt\] \(\d|\(Background on this error at:|\[SQL: "
    r"|\n\s*LINE \d+:)[\s\S]*"
)
# What unittest and pytest append to a comparison that failed.
_WHERE = re.compile(r"\n\s*\+ +where .*")
_DIFF = re.compile(r"(?:\n+[-+?] .*)*\n+\? *[-+^ ]+(?:\n+[-+?] .*)*")
_DRIVER = re.compile(r"^\((?:[\w]+\.)+\w*(?:Error|Exception|Warning)\) ")


def in_one_line(message: str) -> str:
    """Return a message as one line that says what happened.

    Args:
        message: As the library put it, over several lines.
    """
    text = _DRIVER.sub("", _TAIL.sub("", _DIFF.sub("", _WHERE.sub("", message))))
    text = _SOURCE.sub("", _PREFIX.sub("", _TABLE.sub("", text)))
    return " ".join(text.split()) or " ".join(message.split())
