"""What a diagnoser answers; `docs/contract.md` is the contract."""

from __future__ import annotations

from typing import Any, Literal

import msgspec

from dask_failures.causes import CAUSES, UNKNOWN
from dask_failures.errors import BadAnswerError

__all__ = ["Answer", "Confidence", "parsed"]

Confidence = Literal["high", "medium", "low"]

_SHOWN = 200


class Answer(msgspec.Struct, frozen=True, kw_only=True):
    """An answer; fields that are not listed here are ignored.

    Attributes:
        cause: A word of `docs/causes.md`; `unknown`; or null for a run that has no failure.
        subject: What it is about: a task, a function, a worker.
        confidence: How sure.
        text: The explanation, as users read it.
        evidence: The facts that support it.
        findings: What else is reported of the run, as slugs.
        warnings: Those of `findings` that are warnings; null: all of them.
        state: How the run ended, if the diagnoser says so.
        details: Whatever else users are shown.
    """

    cause: str | None
    subject: str = ""
    confidence: Confidence = "medium"
    text: str = ""
    evidence: tuple[str, ...] = ()
    findings: tuple[str, ...] = ()
    warnings: tuple[str, ...] | None = None
    state: str = ""
    details: str = ""


def parsed(printed: str | bytes) -> Answer:
    """Return the answer that a diagnoser printed.

    Raises:
        BadAnswerError: It is none; the message says why.
    """
    shown = printed.decode(errors="replace") if isinstance(printed, bytes) else printed
    if not shown.strip():
        raise BadAnswerError("it printed nothing")
    try:
        value: Any = msgspec.json.decode(printed)
        found = msgspec.convert(value, Answer)
    except msgspec.ValidationError as error:
        raise BadAnswerError(f"its answer is not valid: {error}") from error
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        start = shown.strip()[:_SHOWN]
        raise BadAnswerError(f"it printed no JSON ({error}): {start!r}") from error
    if found.cause not in {None, UNKNOWN, *CAUSES}:
        raise BadAnswerError(
            f"unknown cause {found.cause!r}: `dask-failures causes` lists the words"
        )
    return found
