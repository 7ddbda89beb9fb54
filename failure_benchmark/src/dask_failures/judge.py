"""The judge: compares an answer with what was written down of the case."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Literal

import msgspec

from dask_failures.answer import Answer
from dask_failures.case import Case
from dask_failures.causes import UNKNOWN

__all__ = ["CAUSE_RIGHT", "Judgement", "Kind", "judge"]

Kind = Literal[
    "right",
    "names",
    "claims",
    "state",
    "wrong",
    "warnings",
    "missing",
    "unknown",
    "no answer",
]
"""`names`: the cause is right, but what must be named is missing; `claims`: the cause is right,
but something false is stated with it; `state`: the cause is right, how the run ended is not;
`warnings`: a false finding on a run that succeeded; `missing`: a finding is missing."""

CAUSE_RIGHT = frozenset({"right", "names", "claims", "state"})
"""The kinds whose cause is right."""


class Judgement(msgspec.Struct, frozen=True):
    """What an answer is worth.

    Attributes:
        kind: The result.
        problem: What is wrong with it, in words.
    """

    kind: Kind
    problem: str = ""


def judge(case: Case, answer: Answer | None, why_not: str = "") -> Judgement:
    """Judge an answer.

    Args:
        case: What was asked about.
        answer: What was answered; None if nothing was.
        why_not: Why nothing was.
    """
    if answer is None:
        return Judgement("no answer", why_not)
    if answer.cause == UNKNOWN and UNKNOWN not in case.causes:
        return Judgement(
            "unknown", f"unknown, not {' or '.join(case.causes) or 'no cause'}"
        )
    expected = case.causes or (None,)
    if answer.cause not in expected:
        right = " or ".join(case.causes) or "no cause"
        return Judgement("wrong", f"{answer.cause or 'no cause'}, not {right}")
    if case.state and answer.state and answer.state not in case.state:
        return Judgement("state", f"{answer.state}, not {' or '.join(case.state)}")
    return _of_failure(case, answer) if case.causes else _of_success(case, answer)


def _of_success(case: Case, answer: Answer) -> Judgement:
    loud = answer.findings if answer.warnings is None else answer.warnings
    false = set(answer.findings if case.notices else loud) - {
        *case.findings,
        *case.may,
    }
    if false:
        return Judgement("warnings", f"reports {sorted(false)}")
    missing = set(case.findings) - set(answer.findings)
    if missing:
        return Judgement("missing", f"does not report {sorted(missing)}")
    return Judgement("right")


def _of_failure(case: Case, answer: Answer) -> Judgement:
    if false := set(answer.findings) & set(case.never_findings):
        return Judgement("claims", f"reports {sorted(false)}")
    stated = [each for each in case.never if _found(each, answer.text)]
    if stated:
        return Judgement("claims", f"says {stated}")
    named = "\n".join([answer.text, answer.subject, *answer.evidence])
    if missing := _missing(case.names, named):
        return Judgement("names", f"does not name {missing}")
    if missing := _missing(case.mentions, f"{named}\n{answer.details}"):
        return Judgement("names", f"does not mention {missing}")
    return Judgement("right")


def _missing(patterns: Iterable[str], text: str) -> list[str]:
    return [each for each in patterns if not _found(each, text)]


def _found(pattern: str, text: str) -> bool:
    return re.search(pattern, text, re.IGNORECASE) is not None
