"""What the task's log says: how the recording began, and the card.

Through the task's logger only.  What is printed takes another way into Airflow's log and
arrives out of order, in somebody else's fold.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, Protocol

if TYPE_CHECKING:
    # The real one needs msgspec only, but it is needed in tasks only, too.
    from dask_blackbox import RunCard

__all__ = ["Log", "show_beginning", "show_card"]

_WIDTH: Final = 100


class Log(Protocol):
    """A logger, as far as it is used here."""

    def info(self, event: str, /, *args: Any) -> Any: ...
    def warning(self, event: str, /, *args: Any) -> Any: ...
    def error(self, event: str, /, *args: Any) -> Any: ...


def show_beginning(card: RunCard, log: Log) -> None:
    """Say where the run is being recorded, or why it is not."""
    if reason := _unrecorded(card):
        log.warning("This run is not recorded: %s", reason)
        return
    log.info("Recording %s, attempt %d", card.job, card.attempt)
    log.info("  into %s", card.links.get("recording", "its store"))
    if report := card.links.get("report"):
        log.info("  report: %s", report)


def show_card(card: RunCard, log: Log) -> None:
    """Print the verdict in the open and the whole card in a fold."""
    say = log.info if card.state == "succeeded" else log.error
    say("%s", card.headline)
    if card.verdict is not None:
        say("%s", card.verdict.cause)
        say("What to do: %s", card.verdict.remedy)
    if reason := _unrecorded(card):
        log.warning("This run is not recorded: %s", reason)
    if report := card.links.get("report"):
        log.info("Report: %s", report)

    from dask_blackbox.report import text

    log.info("::group::The whole card")
    for line in text(card, width=_WIDTH).splitlines():
        log.info("%s", line)
    log.info("::endgroup::")


def _unrecorded(card: RunCard) -> str | None:
    if card.completeness.get("recorded", True):
        return None
    return str(card.completeness.get("reason") or "the recorder did not say why")
