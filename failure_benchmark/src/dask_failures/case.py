"""A case: a run whose cause was written down before it was first recorded."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal

import msgspec

from dask_failures.causes import CAUSES, UNKNOWN, group_of
from dask_failures.errors import BadSetError

__all__ = ["Case", "Signal", "cases_from", "expectations_of"]


class Signal(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A signal sent from outside while a script runs.

    Attributes:
        name: Such as `SIGINT`.
        marker: Send it once the output contains this,
        after: and so many seconds have passed since.
        to: `group`, as a terminal's Ctrl-C, or the driver's process alone.
    """

    name: str
    marker: str
    after: float = 1.0
    to: Literal["group", "driver"] = "driver"


class Case(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """How a run is made, and what a diagnoser must answer.

    Attributes:
        text: What happens, in a sentence.
        part: The part of its set; cases of a part were diagnosed together.
        unseen: Its first answer was given by rules that nobody had tried on it.
        kind: What its author was asked for, such as `consequence` (the last visible exception
            is not the cause), `start`, `hang`, `memory`, `death`, `everyday`, `plain`.
        report: The URL of the public report that it reproduces; empty in sets of invented
            scripts.
        causes: The answers that are right; empty: the run succeeds, and has no cause.
        why: Why more than one answer is right.
        names: Regular expressions that text, evidence or subject must contain, in any case.
        mentions: Those that the whole answer must contain.
        helps: What helps, as the report says; a person who reads the remedy compares it.
        useless: A remedy that cannot help.
        never: Those that the text must not contain.
        findings: Findings that must be reported of a run that succeeds.
        never_findings: Findings that would be false.
        may: Findings that are true as well.
        notices: Whether findings that are only notices count as well.
        state: States of the run that are right; empty: any.
        accepted: Why another answer on its recording is no fault: the case is not scored.
        retry: Whether another attempt helps: `helps`, `does not help`, `unknown` or empty.
        argv: The command of its script; `{file}` is the script.
        rename: What the script is called where it runs.
        env: Further variables.
        signal: What is sent to it.
        bound: Seconds after which it is ended from outside.
        needs: Modules without which it cannot run.
        recorded: By the recorder's command around the script, or by the script itself.
    """

    text: str = ""
    part: str = ""
    unseen: bool = False
    kind: str = ""
    report: str = ""
    causes: tuple[str, ...] = ()
    why: str = ""
    names: tuple[str, ...] = ()
    mentions: tuple[str, ...] = ()
    helps: str = ""
    useless: str = ""
    never: tuple[str, ...] = ()
    findings: tuple[str, ...] = ()
    never_findings: tuple[str, ...] = ()
    may: tuple[str, ...] = ()
    notices: bool = False
    state: tuple[str, ...] = ("failed",)
    accepted: str = ""
    retry: str = ""
    argv: tuple[str, ...] = ("python", "{file}")
    rename: str = ""
    env: dict[str, str] = {}
    signal: Signal | None = None
    bound: float = 300.0
    needs: tuple[str, ...] = ()
    recorded: Literal["command", "script"] = "command"

    def __post_init__(self) -> None:
        """Check what would otherwise fail only when the case is judged."""
        if odd := set(self.causes) - {*CAUSES, UNKNOWN}:
            raise ValueError(f"unknown causes {sorted(odd)}: docs/causes.md lists them")
        for pattern in (*self.names, *self.mentions, *self.never):
            re.compile(pattern)

    @property
    def group(self) -> str:
        """Its kind of failure in the table."""
        return group_of(self.causes)


def cases_from(toml: bytes, origin: Path) -> dict[str, Case]:
    """Return the cases of an `expected.toml`, by name.

    Args:
        toml: Its text.
        origin: Where that is, for messages.

    Raises:
        BadSetError: It is no valid list of cases.
    """
    try:
        return msgspec.toml.decode(toml, type=dict[str, Case])
    except (msgspec.DecodeError, ValueError, re.error) as error:
        raise BadSetError(origin, f"expected.toml: {error}") from error


def expectations_of(cases: Mapping[str, Case]) -> bytes:
    """Return the `expected.toml` of cases, without the fields that have their default."""
    parts = []
    for name, case in cases.items():
        fields = msgspec.structs.fields(Case)
        lines = [
            f"{each.name} = {_toml(msgspec.to_builtins(value))}"
            for each in fields
            if (value := getattr(case, each.name)) not in (each.default, {}, None)
        ]
        parts.append("\n".join([f"[{json.dumps(name)}]", *lines, ""]))
    return "\n".join(parts).encode()


def _toml(value: Any) -> str:
    if isinstance(value, dict):
        pairs = (f"{json.dumps(key)} = {_toml(each)}" for key, each in value.items())
        return "{ " + ", ".join(pairs) + " }"
    if isinstance(value, (list, tuple)):
        return "[" + ", ".join(map(_toml, value)) + "]"
    # A basic string of TOML is one of JSON, but for this character.
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
