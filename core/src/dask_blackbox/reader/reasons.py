"""Why a run ended as it did, as data: verdict, evidence with commands, chain, changes."""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Sequence
from typing import TYPE_CHECKING

import msgspec

from dask_blackbox.events import DriverCode
from dask_blackbox.finding import CurrentState, Evidence, Finding
from dask_blackbox.formatting import utc
from dask_blackbox.patterns import bounded
from dask_blackbox.run_tables import RunTables

if TYPE_CHECKING:
    # Loaded with analysis, which `--help` does without.
    from dask_blackbox.analyse.alternatives import RejectedCause
    from dask_blackbox.card import RunCard

_AROUND = 2.0
_LINE = bounded(r'(?P<file>[\w.-]{1,100}\.py)(?:", line |:)(?P<line>\d{1,6})', re.ASCII)
_PART = bounded(r"(?P<file>[^/]{1,200}):(?P<line>\d{1,6}) ")
_MOST_CODE, _LINES_AROUND = 3, 4
_TABLES = ("tasks", "errors", "workers", "metrics", "events")


def how_to_see(evidence: Evidence, run: str) -> str:
    """Return a command that shows where a piece of evidence comes from.

    Args:
        run: What names the run to other commands.
    """
    if evidence.see:
        return _of(evidence.see, run)
    if evidence.source in _TABLES:
        return _python(run, f"run.{evidence.source}")
    if evidence.source == "driver":
        return _python(
            run, "getattr(run.ending and run.ending.exception, 'traceback', run.ending)"
        )
    words = ["dask", "blackbox", "logs", run]
    if evidence.at is not None:
        words += ["--since", _iso(evidence.at - _AROUND)]
        words += ["--until", _iso(evidence.at + _AROUND)]
    return " ".join(map(shlex.quote, words))


def _of(command: str, run: str) -> str:
    """Return a command of the card's with an address of the run that works from here."""
    words = shlex.split(command)
    if words[:2] == ["dask", "blackbox"] and len(words) > 3:  # noqa: PLR2004
        words[3] = run
    return " ".join(map(shlex.quote, words))


def _python(run: str, what: str) -> str:
    code = f"from dask_blackbox import Run; run = Run.open({json.dumps(run)}); print({what})"
    return f"python -c {shlex.quote(code)}"


def _iso(at: float) -> str:
    return utc(at).strftime("%Y-%m-%dT%H:%M:%S.%f")


def code_around(run: RunTables, found: Finding | None) -> list[dict[str, str]]:
    """Return the user's lines that a finding names, with those around them.

    Each has `at` (file and line), `name` (of the function) and `code`, whose line that is
    named begins with `>`.  Only of what `blackbox.capture.source` recorded.
    """
    if found is None:
        return []
    text = "\n".join((found.title, found.cause, *(x.text for x in found.evidence)))
    named = dict.fromkeys((x["file"], int(x["line"])) for x in _LINE.finditer(text))
    recorded = [
        (part["file"], int(part["line"]), name, code.sources[name].splitlines())
        for code in run.of(DriverCode)
        for name, where in code.parts.items()
        if name in code.sources and (part := _PART.match(where))
    ]
    shown = []
    for file, line in named:
        inside = [
            (first, name, lines)
            for part, first, name, lines in recorded
            if part == file and first <= line < first + len(lines)
        ]
        if inside:
            first, name, lines = max(inside)
            shown.append(_code(file, line, name, first, lines))
    return shown[:_MOST_CODE]


def _code(
    file: str, line: int, name: str, first: int, lines: list[str]
) -> dict[str, str]:
    begin = max(first, line - _LINES_AROUND)
    end = min(first + len(lines), line + _LINES_AROUND + 1)
    code = [
        f"{'>' if number == line else ' '} {number} {lines[number - first]}"
        for number in range(begin, end)
    ]
    return {
        "at": f"{file}:{line}",
        "name": name.rpartition(":")[2],
        "code": "\n".join(code),
    }


def why_as_dict(
    card: RunCard,
    others: Sequence[RejectedCause],
    *,
    run: str,
    code: Sequence[dict[str, str]] = (),
) -> dict[str, object]:
    """Return the same as data: verdict, evidence with `see`, and what was considered.

    The evidence of the verdict is only in the list of all evidence.

    Args:
        run: What names the run to other commands.
        code: The lines of `code_around`.
    """
    findings: list[Finding | CurrentState] = [*card.findings]
    if card.verdict is not None:
        findings = [card.verdict]
    elif card.now is not None:
        findings = [card.now, *findings]
    return {
        "job": card.job,
        "run_id": card.run_id,
        "attempt": card.attempt,
        "state": card.state,
        "headline": card.headline,
        "verdict": _without_evidence(card.verdict),
        "now": _without_evidence(card.now),
        "evidence": [
            {
                **msgspec.to_builtins(fact),
                "rule": found.rule,
                "see": how_to_see(fact, run),
            }
            for found in findings
            for fact in found.evidence
        ],
        "code": list(code),
        "chain": msgspec.to_builtins(card.chain),
        "changes": msgspec.to_builtins(card.changes),
        "past": msgspec.to_builtins(card.past),
        "considered": [msgspec.to_builtins(each) for each in others],
    }


def _without_evidence(found: Finding | CurrentState | None) -> dict[str, object] | None:
    if found is None:
        return None
    values: dict[str, object] = msgspec.to_builtins(found)
    values.pop("evidence", None)
    return values
