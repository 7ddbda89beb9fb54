"""The card for CI services: a step's summary, an annotation at the failing line, JUnit XML."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from xml.etree import ElementTree as ET

from dask_blackbox.card_data import CardData
from dask_blackbox.patterns import bounded
from dask_blackbox.report.markdown_card import markdown, markdown_parts
from dask_blackbox.report.text_card import text
from dask_blackbox.report.wording import full_headline

MOST_SUMMARY = 64 * 1024
"""Bytes of one card in a summary; GitHub takes 1 MiB from a step."""

_MOST_MESSAGE = 3_000
_PLACE = bounded(r"(?P<file>[^\s:'\"`()<>]{1,300}\.py):(?P<line>\d{1,7})")
_ESCAPED = {"%": "%25", "\r": "%0D", "\n": "%0A"}
_IN_PROPERTY = _ESCAPED | {":": "%3A", ",": "%2C"}
_NOT_XML = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def summary(card: CardData) -> str:
    """Return the card as Markdown for a step's summary, in at most `MOST_SUMMARY` bytes."""
    whole = markdown(card)
    if len(whole.encode()) <= MOST_SUMMARY:
        return whole
    parts = markdown_parts(card)
    short = f"{parts.head}\n\n{parts.identity}\n\n{parts.links}"
    note = (
        f"The card has {len(whole.encode()):,} bytes: `dask blackbox show` prints it."
    )
    return f"{short}\n\n{note}\n"


def annotation(card: CardData, workspace: Path) -> str | None:
    """Return the workflow command that marks the failing line; None: the run did not fail.

    The line is the first one of the verdict whose file is in the workspace; without one, the
    annotation belongs to the job.

    Args:
        workspace: The checkout, which the file's name is relative to.
    """
    if card.state in {"succeeded", "running"}:
        return None
    verdict = card.verdict
    title = f"{card.job}: {full_headline(card)}"
    words = [full_headline(card)]
    if verdict is not None:
        words += [verdict.cause, f"What to do: {verdict.remedy}"]
    message = "\n".join(words)
    if len(message) > _MOST_MESSAGE:
        message = f"{message[:_MOST_MESSAGE]}… (shortened; the card has all of it)"
    properties = {"title": title[:_MOST_MESSAGE]}
    place = _place(card, workspace)
    if place is not None:
        properties = {"file": place[0], "line": str(place[1])} | properties
    given = ",".join(
        f"{name}={_escaped(value, _IN_PROPERTY)}" for name, value in properties.items()
    )
    return f"::error {given}::{_escaped(message, _ESCAPED)}"


def junit(card: CardData) -> bytes:
    """Return the run as JUnit XML: one test case, in the form that Jenkins and GitLab read.

    A run that failed is a failure, one that was ended from outside or lost is an error, one
    that continues is skipped.
    """
    seconds = f"{card.numbers.get('duration', 0.0):.3f}"
    kind = {"succeeded": "", "failed": "failure", "running": "skipped"}.get(
        card.state, "error"
    )
    counts = {
        "tests": "1",
        "failures": str(int(kind == "failure")),
        "errors": str(int(kind == "error")),
        "skipped": str(int(kind == "skipped")),
        "time": seconds,
    }
    root = ET.Element("testsuites")
    suite = ET.SubElement(root, "testsuite", {"name": "dask-blackbox"} | counts)
    case = ET.SubElement(
        suite,
        "testcase",
        {"classname": "dask-blackbox", "name": _for_xml(card.job), "time": seconds},
    )
    if kind == "skipped":
        ET.SubElement(case, kind, {"message": _for_xml(full_headline(card))})
    elif kind:
        rule = card.verdict.rule if card.verdict is not None else card.state
        about = {"message": _for_xml(full_headline(card)), "type": _for_xml(rule)}
        ET.SubElement(case, kind, about).text = _for_xml(text(card))
    else:
        ET.SubElement(case, "system-out").text = _for_xml(text(card))
    ET.indent(root)
    written: bytes = ET.tostring(root, encoding="utf-8", xml_declaration=True)
    return written + b"\n"


def _place(card: CardData, workspace: Path) -> tuple[str, int] | None:
    """Return file, relative to the workspace, and line."""
    for each in _sentences(card):
        for match in _PLACE.finditer(each):
            try:
                file = (workspace / match["file"]).resolve()
                inside = file.relative_to(workspace.resolve())
                exists = file.is_file()
            except (OSError, ValueError):
                continue
            if exists:
                return inside.as_posix(), int(match["line"])
    return None


def _sentences(card: CardData) -> Iterator[str]:
    yield card.headline
    if card.verdict is not None:
        yield card.verdict.cause
        yield from (each.text for each in card.verdict.evidence)
    yield from (each.text for each in card.chain)


def _escaped(value: str, escapes: dict[str, str]) -> str:
    return "".join(escapes.get(letter, letter) for letter in value)


def _for_xml(value: str) -> str:
    """Return a text without the characters that XML has no way to write."""
    return _NOT_XML.sub("\ufffd", value)
