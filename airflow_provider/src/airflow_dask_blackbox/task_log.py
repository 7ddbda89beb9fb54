"""Prints the start of the recording and the card into the task's log.

Through the task's logger only.  What is printed takes another way into Airflow's log and
arrives out of order, in somebody else's fold.
"""

from __future__ import annotations

from collections.abc import Iterator
from textwrap import wrap
from typing import TYPE_CHECKING, Final, Protocol

from dask_blackbox.patterns import bounded

if TYPE_CHECKING:
    # The real one needs msgspec only, but it is needed in tasks only, too.
    from dask_blackbox import RunCard

__all__ = [
    "Log",
    "exception_note",
    "is_recorded",
    "show_beginning",
    "show_card",
    "verdict_of",
]

_WIDTH: Final = 100
_OPEN_WIDTH: Final = 88
_MOST_CHANGES: Final = 3
_CODE: Final = bounded(r"`[^`\n]{1,300}`")
_UNBROKEN: Final = "\N{NO-BREAK SPACE}"


class Log(Protocol):
    """A logger, as far as it is used here."""

    def info(self, event: str, /, *args: object) -> object: ...
    def warning(self, event: str, /, *args: object) -> object: ...
    def error(self, event: str, /, *args: object) -> object: ...


def show_beginning(card: RunCard, log: Log) -> None:
    """Print where the run is being recorded; if it is not, the core has logged why."""
    if not is_recorded(card):
        return
    log.info("Recording %s, attempt %d", card.job, card.attempt)
    log.info("  into %s", card.links.get("recording", "its store"))
    if report := card.links.get("report"):
        log.info("  report: %s", report)


def is_recorded(card: RunCard) -> bool:
    """Return whether the recording is in its store, as far as its card knows."""
    return bool(card.completeness.get("recorded", True))


def verdict_of(card: RunCard) -> str:
    """Return the verdict in one line, whether or not the run could be recorded."""
    return card.verdict.title if card.verdict is not None else card.headline


def exception_note(card: RunCard) -> str:
    """Return what the task's exception carries: Airflow's traceback ends the log with it."""
    report = card.links.get("report")
    return f"Dask: {verdict_of(card)}" + (f"\nReport: {report}" if report else "")


def show_card(card: RunCard, log: Log) -> None:
    """Print the verdict in the open and the whole card in a fold."""
    say = log.info if card.state == "succeeded" else log.error
    say("%s", card.headline)
    for paragraph in _in_the_open(card):
        # Airflow's page cuts off what is longer than it is wide; a path is copied whole.
        for line in _wrapped(paragraph):
            say("%s", line)
    if reason := _unrecorded(card):
        log.warning("This run is %s", reason)
    if report := card.links.get("report"):
        log.info("Report: %s", report)

    from dask_blackbox.report import text

    log.info("::group::Full card")
    for line in text(card, width=_WIDTH).splitlines():
        log.info("%s", line)
    log.info("::endgroup::")


def _wrapped(paragraph: str) -> list[str]:
    """Return a paragraph in lines; what stands between backticks is to be copied as one."""
    kept = _CODE.sub(lambda code: code[0].replace(" ", _UNBROKEN), paragraph)
    lines = wrap(
        kept,
        _OPEN_WIDTH,
        break_on_hyphens=False,
        break_long_words=False,
        subsequent_indent="  ",
    )
    return [line.replace(_UNBROKEN, " ") for line in lines]


def _in_the_open(card: RunCard) -> Iterator[str]:
    """Yield what nobody should have to unfold: the cause, what to do, and what changed."""
    if card.verdict is None:
        return
    from dask_blackbox.finding import unusual
    from dask_blackbox.formatting import plain
    from dask_blackbox.report.wording import (
        blame_text,
        change_text,
        explained_text,
        recurrence_text,
    )

    yield plain(card.verdict.cause)
    if card.verdict.remedy:
        yield f"What to do: {plain(card.verdict.remedy)}"
    if card.past is not None and (blame := blame_text(card.past)):
        yield f"What changed: {blame}"
    for change in unusual(card.changes)[:_MOST_CHANGES]:
        yield f"\N{BULLET} {change_text(change)}"
        if change.explains:
            yield f"  {explained_text(change)}"
    if seen := recurrence_text(card):
        yield f"Seen: {seen}"


def _unrecorded(card: RunCard) -> str | None:
    from dask_blackbox.card_data import not_stored_beside_verdict

    return not_stored_beside_verdict(card)
