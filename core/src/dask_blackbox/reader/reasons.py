"""Why a run ended as it did, as data: verdict, evidence with commands, chain, changes."""

from __future__ import annotations

import json
import shlex
from collections.abc import Sequence
from typing import TYPE_CHECKING

import msgspec

from dask_blackbox.finding import CurrentState, Evidence, Finding
from dask_blackbox.formatting import utc

if TYPE_CHECKING:
    # Loaded with analysis, which `--help` does without.
    from dask_blackbox.analyse.alternatives import RejectedCause
    from dask_blackbox.card import RunCard

_AROUND = 2.0
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


def why_as_dict(
    card: RunCard, others: Sequence[RejectedCause], *, run: str
) -> dict[str, object]:
    """Return the same as data: verdict, evidence with `see`, and what was considered.

    The evidence of the verdict is only in the list of all evidence.
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
