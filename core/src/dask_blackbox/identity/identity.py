"""`Identity`, the value that this package makes, and how its parts are read safely."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import PurePath

import msgspec

_PASSWORD = re.compile(r"//[^/@\s]*@")


class Identity(msgspec.Struct, kw_only=True, frozen=True):
    """Who a run is.

    Attributes:
        job: Job name; runs of one job are compared.
        run_id: Run id. Default: derived from host and start time.
        attempt: Which try of that run, from 1.
        host: What started the run: `kind` (airflow, prefect, github, shell, …), `url` of
            its page where the environment tells, and whatever else names it there.
    """

    job: str
    run_id: str
    attempt: int = 1
    host: dict[str, object] = {}


def filled(**facts: str | None) -> dict[str, object]:
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
