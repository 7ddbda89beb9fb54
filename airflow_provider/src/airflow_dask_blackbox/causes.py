"""What tasks failed of, in a form in which tasks of different DAGs can be grouped by it.

A task publishes its cause with the state of its recording (`xcoms`), so that a page or a message
about many tasks needs no look into their recordings.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Final, NamedTuple

from dask_blackbox.patterns import bounded

if TYPE_CHECKING:
    # The real one needs msgspec only, but it is needed in tasks only, too.
    from dask_blackbox import RunCard

__all__ = ["Cause", "unusual_in"]

_LONGEST: Final = 500
_LONGEST_REMEDY: Final = 2_000
"""The line to paste is at the end of it."""
_DIFFERS: Final = bounded(r"(?:tcp|tls)://[^\s'\",;)]+|0x[0-9a-fA-F]+|\d+(?:[.,]\d+)*")
"""Addresses and numbers, which differ between tasks that failed of one cause."""
_MOST_UNUSUAL: Final = 3


def unusual_in(card: RunCard) -> list[str]:
    """Return what was unusual about a run, or nearly went wrong, in lines."""
    from dask_blackbox.finding import UNUSUAL
    from dask_blackbox.formatting import plain

    titles = [each.title for each in card.findings if each.rule in UNUSUAL]
    return [_cut(plain(each)) for each in titles[:_MOST_UNUSUAL]]


def _cut(text: str, most: int = _LONGEST) -> str:
    return text if len(text) <= most else f"{text[: most - 1]}…"


class Cause(NamedTuple):
    """Why a task failed, as its verdict says.

    Attributes:
        rule: The rule that explains it.
        title: What happened, in a line.
        remedy: What to do.
        retry: Whether a retry would help.
        times: How many runs of the job failed so, this one included; 0: unknown.
    """

    rule: str
    title: str
    remedy: str = ""
    retry: str = "unknown"
    times: int = 0

    @property
    def key(self) -> tuple[str, str]:
        """What tasks that failed of one cause have in common."""
        return self.rule, _DIFFERS.sub("#", self.title)

    @classmethod
    def of(cls, card: RunCard) -> Cause | None:
        """Return the cause on a card; None: nothing has failed, or nobody knows of what."""
        from dask_blackbox.formatting import plain

        verdict = card.verdict
        if card.state in {"running", "succeeded"} or verdict is None:
            return None
        past = card.past
        known = past is not None and (past.recurrence is not None or past.runs > 0)
        again = past.recurrence if past is not None else None
        return cls(
            rule=verdict.rule,
            title=_cut(plain(verdict.own_title or verdict.title)),
            remedy=_cut(plain(verdict.remedy), _LONGEST_REMEDY),
            retry=verdict.retry_advice,
            times=again.times if again is not None else int(known),
        )

    @classmethod
    def announced(cls, said: object) -> Cause | None:
        """Return the cause that a task published; None: it published none.

        Args:
            said: What stands in its XCom, which anybody may have written.
        """
        if not isinstance(said, Mapping):
            return None
        texts = [said.get(name, "") for name in ("rule", "title", "remedy", "retry")]
        if not all(isinstance(each, str) for each in texts) or not texts[1]:
            return None
        times = said.get("times")
        rule, title, remedy, retry = map(str, texts)
        return cls(
            rule=_cut(rule),
            title=_cut(title),
            remedy=_cut(remedy, _LONGEST_REMEDY),
            retry=_cut(retry),
            times=times if isinstance(times, int) else 0,
        )
