"""`Identity`, the value that this room makes, and how its parts are read safely."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import PurePath
from typing import Any

import msgspec

__all__ = ["Identity", "argv_of", "filled", "joined", "number", "script_of"]

_PASSWORD = re.compile(r"//[^/@\s]*@")


class Identity(msgspec.Struct, kw_only=True, frozen=True):
    """Who a run is.

    Attributes:
        job: What is run again and again.
        run_id: Which of its runs.
        attempt: Which try of that run, from 1.
        host: What started the run: `kind` (airflow, prefect, github, shell, …), `url` of
            its page where the environment tells, and whatever else names it there.
    """

    job: str
    run_id: str
    attempt: int = 1
    host: dict[str, Any] = {}


def filled(**facts: str | None) -> dict[str, Any]:
    """Return the facts that are known, without passwords in URLs."""
    return {name: _PASSWORD.sub("//", fact) for name, fact in facts.items() if fact}


def joined(*parts: str | None) -> str:
    """Return the parts that are known, joined by dots, repetitions left out."""
    known: list[str] = []
    for part in parts:
        if part and part not in known:
            known.append(part)
    return ".".join(known)


def number(text: str | None, default: int) -> int:
    """Return `text` as a number, `default` where it is none."""
    try:
        return int(text or default)
    except ValueError:
        return default


def script_of(argv: Sequence[str]) -> str | None:
    """Return the name of what was started (`etl` for `python jobs/etl.py`), if it has one."""
    path = PurePath(argv[0] if argv else "")
    if path.name in {"", "-", "-c", "-m"}:
        return None
    # `python -m package` arrives as the path of package/__main__.py.
    return path.parent.name or None if path.name == "__main__.py" else path.stem


def argv_of(command: Sequence[str]) -> list[str]:
    """Return a command as its own process sees it: without the interpreter."""
    if command and PurePath(command[0]).name.startswith("python") and len(command) > 1:
        rest = list(command[1:])
        if rest[0] == "-m" and len(rest) > 1:
            return rest[1:]
        if rest[0] == "-c":  # a text is no name
            return [f"{PurePath(command[0]).name} -c", *rest[2:]]
        script = next((i for i, word in enumerate(rest) if not word.startswith("-")), 0)
        return rest[script:]
    return list(command)
