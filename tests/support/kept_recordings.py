"""Recordings of real runs, kept in `tests/kept`, and what is said of each.

A set is an archive, `deaths.tar.xz`, and what its recordings must be reported as,
`deaths.toml`.  `tools/choose_recordings.py` chose them.  Each recording is read and diagnosed
once in a process, by whichever test asks first.
"""

from __future__ import annotations

import json
import random
import re
import tarfile
from collections.abc import Iterator
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

import msgspec
import polars as pl
import pytest
from dask_blackbox.analyse import RULES, findings_in, user_rules
from dask_blackbox.analyse.alternatives import RejectedCause, rejected_causes
from dask_blackbox.analyse.complete_tables import completed
from dask_blackbox.card import RunCard, card_of
from dask_blackbox.cli.why import why_text
from dask_blackbox.manifest import Ending, Manifest
from dask_blackbox.report import text
from dask_blackbox.run_tables import RunTables
from dask_blackbox.tables import with_known_columns

__all__ = [
    "KEPT",
    "SETS",
    "Diagnosed",
    "Expected",
    "diagnosed",
    "expectations",
    "kept_run",
    "names",
    "odd_words",
    "problem_of",
    "read_archive",
    "recordings",
    "text_of",
    "wrong_chain",
]

KEPT = Path(__file__).parents[1] / "kept"
SETS = tuple(sorted(path.stem for path in KEPT.glob("*.toml")))
_ODD = re.compile(
    r"(?<!-)\b(?:nan|inf)\b|(?<![\d.,:-])0(?:\.0)? (?:s|ms|µs|bytes|[KMG]iB|workers?|times?)\b"
    r"|\b[a-z]+(?:-[a-z]+)+-1\d{9}\.\d+"
)
_TABLES = ("tasks", "errors", "logs", "metrics", "events")


class Expected(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """What must be reported of a recording.

    Attributes:
        text: What happened, in a sentence.
        verdicts: Verdicts that are right; empty: it has none.
        state: States of the run that are right; empty: any.
        names: Patterns that headline, title, cause or evidence must contain.
        mentions: Patterns that the card must contain, other findings included.
        never: Patterns that headline, title and cause must not contain.
        must: Findings that there must be.
        may: Other findings that may be there, where `must` is not all that is true.
        never_rules: Findings that would be false.
    """

    text: str = ""
    verdicts: tuple[str, ...] = ()
    state: tuple[str, ...] = ()
    names: tuple[str, ...] = ()
    mentions: tuple[str, ...] = ()
    never: tuple[str, ...] = ()
    must: tuple[str, ...] = ()
    may: tuple[str, ...] = ()
    never_rules: tuple[str, ...] = ()


class Diagnosed(NamedTuple):
    """What is said of a recording.

    Attributes:
        run: The recording.
        card: Its card.
        rejected: Causes that `dask blackbox why` rejects.
    """

    run: RunTables
    card: RunCard
    rejected: tuple[RejectedCause, ...]


@cache
def expectations(of: str) -> dict[str, Expected]:
    """Return what must be reported of each recording of a set, by name."""
    written = (KEPT / f"{of}.toml").read_bytes()
    return msgspec.toml.decode(written, type=dict[str, Expected])


def names() -> list[tuple[str, str]]:
    """Return the set and name of each recording, without opening an archive."""
    return [(each, name) for each in SETS for name in expectations(each)]


@cache
def recordings(of: str) -> dict[str, RunTables]:
    """Return the recordings of a set, by name."""
    return dict(read_archive(KEPT / f"{of}.tar.xz"))


@cache
def diagnosed(of: str, name: str, *, shuffled: bool = True) -> Diagnosed:
    """Return what the rules say of a recording.

    Args:
        shuffled: They are asked in another order than in a real diagnosis, each time the same.
    """
    run, rules = recordings(of)[name], list(RULES)
    if shuffled:
        random.Random(name).shuffle(rules)
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(user_rules, "RULES", tuple(rules))
        card = card_of(run, findings_in(run))
    return Diagnosed(run, card, rejected_causes(run, card.verdict))


def kept_run(name: str) -> RunTables:
    """Return a recording by its name."""
    [of] = [each for each, there in names() if there == name]
    return recordings(of)[name]


def read_archive(archive: Path) -> Iterator[tuple[str, RunTables]]:
    """Yield the recordings of an archive, with their names."""
    blobs: dict[str, dict[str, bytes]] = {}
    with tarfile.open(archive, "r:xz") as tar:
        for member in tar:
            *folders, case, name = member.name.split("/")
            file = tar.extractfile(member)
            # A set of the benchmark has its recordings in a folder.
            if file is not None and folders[1:] in ([], ["recordings"]):
                blobs.setdefault(case, {})[name] = file.read()
    for case, of in blobs.items():
        if "run.json" in of:
            yield case, _run_of(of)


def _run_of(blobs: dict[str, bytes]) -> RunTables:
    ending = blobs.get("complete.json")
    reported: dict[str, Any] = json.loads(blobs["reported.json"])
    recorded = RunTables(
        msgspec.json.decode(blobs["run.json"], type=Manifest),
        None if ending is None else msgspec.json.decode(ending, type=Ending),
        {
            name: with_known_columns(name, pl.read_ipc(blobs[f"{name}.arrow"]))
            for name in _TABLES
        },
        last_heartbeat=reported.get("heartbeat"),
    )
    return completed(recorded)


def problem_of(expected: Expected, card: RunCard) -> str:
    """Return what is wrong with a card, or nothing."""
    rule = card.verdict.rule if card.verdict is not None else ""
    rules = {each.rule for each in card.findings}
    if rule not in (expected.verdicts or ("",)):
        return f"the verdict is {rule!r}, not {' or '.join(expected.verdicts)!r}"
    if expected.state and card.state not in expected.state:
        return f"the state is {card.state}, not {' or '.join(expected.state)}"
    if missing := set(expected.must) - rules:
        return f"findings are missing: {sorted(missing)}"
    false = rules & set(expected.never_rules)
    if not expected.verdicts:
        grave = {e.rule for e in card.findings if e.severity != "notice"}
        false |= grave - {*expected.must, *expected.may}
    if false:
        return f"findings are false: {sorted(false)}"
    return _problem_of_words(expected, card)


def _problem_of_words(expected: Expected, card: RunCard) -> str:
    """Return which words a card lacks, or must not have."""
    verdict = card.verdict
    shown = [] if verdict is None else [verdict.title, verdict.cause]
    head = "\n".join([card.headline, *shown])
    facts = [] if verdict is None else [each.text for each in verdict.evidence]
    for patterns, where in (
        (expected.names, "\n".join([head, *facts])),
        (expected.mentions, str(card.to_json())),
    ):
        lost = [each for each in patterns if not re.search(each, where, re.IGNORECASE)]
        if lost:
            return f"it does not name {lost}"
    false = [each for each in expected.never if re.search(each, head, re.IGNORECASE)]
    return f"it claims {false}" if false else ""


def odd_words(run: RunTables, card: RunCard) -> list[str]:
    """Return what no sentence for people holds: zeros, no numbers, ids of stimuli.

    What the user's own exceptions say is theirs.
    """
    ended = run.ending.exception if run.ending is not None else None
    messages = [*run.errors["message"].drop_nulls(), ended.message if ended else ""]
    theirs = "\n".join(messages)
    found = (*card.findings, *((card.verdict,) if card.verdict is not None else ()))
    texts = [text for e in found for text in (e.title, e.cause, e.remedy)]
    return [
        odd[0] for each in texts for odd in _ODD.finditer(each) if odd[0] not in theirs
    ]


def wrong_chain(card: RunCard) -> list[str]:
    """Return what is wrong with the chain of a card, from its root to the outcome."""
    texts = [step.text for step in card.chain]
    times = [step.at for step in card.chain if step.at is not None]
    problems = {
        "a failure has two to six steps": len(texts) not in range(2, 7)
        if card.verdict is not None
        else bool(texts),
        "steps are in order of time": times != sorted(times),
        "no step repeats the one before": any(a == b for a, b in pairwise(texts)),
        "the last step is the last in time": bool(texts)
        and card.chain[-1].at != max(times, default=None),
    }
    return [text for text, wrong in problems.items() if wrong]


def text_of(found: Diagnosed, *, width: int = 100) -> str:
    """Return all that is said of a recording, as people and programs read it."""
    card = found.card
    address = f"{card.job}/{card.run_id}"
    parts = {
        "show": text(card, width=width),
        "why": why_text(card, found.rejected, run=address, width=width),
        "findings": "\n".join(_finding_lines(card)) or "none",
    }
    lines = [f"── {name} ──\n{part.strip()}\n" for name, part in parts.items()]
    return "\n".join(line.rstrip() for line in "\n".join(lines).splitlines())


def _finding_lines(card: RunCard) -> Iterator[str]:
    """Yield the fields of each finding, and the texts that `show` and `why` leave out."""
    verdict = card.verdict
    for each in (verdict, *card.findings) if verdict is not None else card.findings:
        about = [f"{k}={v}" for k, v in msgspec.to_builtins(each.subject).items() if v]
        cost = each.cost
        yield (
            f"{each.rule}: {each.severity}, confidence {each.confidence}; "
            f"retry {each.retry_advice}, confidence {each.retry_confidence}"
            + "".join(f"; {word}" for word in about)
            + (f"; cost {cost.amount:.3g} {cost.unit}" if cost is not None else "")
        )
        if verdict is not None and each is not verdict:
            shown = (each.title, each.cause, each.remedy)
            facts = [f"* {fact.text}" for fact in each.evidence]
            yield from (
                f"  {line}" for line in "\n".join((*shown, *facts)).splitlines()
            )
