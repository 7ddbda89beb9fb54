"""What tasks failed of, in a form in which tasks of different DAGs can be grouped by it.

A task publishes its cause with the state of its recording (`xcoms`), so that a page or a message
about many tasks needs no look into their recordings.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Final, NamedTuple

from dask_blackbox.patterns import bounded

from airflow_dask_blackbox.dialect import DIALECT

if TYPE_CHECKING:
    # The real one needs msgspec only, but it is needed in tasks only, too.
    from dask_blackbox import RunCard

__all__ = ["Advice", "Cause", "advice_on", "cause_of_all", "unusual_in"]

_LONGEST: Final = 500
_LONGEST_REMEDY: Final = 2_000
_DIFFERS: Final = bounded(r"(?:tcp|tls)://[^\s'\",;)]+|0x[0-9a-fA-F]+|\d+(?:[.,]\d+)*")
"""Addresses and numbers, which differ between tasks that failed of one cause."""
_MOST_VALUES: Final = 3
_MOST_UNUSUAL: Final = 3


def unusual_in(card: RunCard) -> list[str]:
    """Return what was unusual about a run, or nearly went wrong, in lines."""
    from dask_blackbox.finding import UNUSUAL
    from dask_blackbox.formatting import plain

    titles = [each.title for each in card.findings if each.rule in UNUSUAL]
    return [_cut(plain(each)) for each in titles[:_MOST_UNUSUAL]]


def _cut(text: str, most: int = _LONGEST) -> str:
    return text if len(text) <= most else f"{text[: most - 1]}…"


def _cut_remedy(remedy: str) -> str:
    """Return a remedy that is not too long: a part of what is to be pasted is no use."""
    text, lines = DIALECT.without_lines(remedy)
    room = _LONGEST_REMEDY - len(lines) - 1
    if not lines or room < 1:
        return _cut(text, _LONGEST_REMEDY)
    return f"{_cut(text, room)} {lines}"


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
            remedy=_cut_remedy(plain(verdict.remedy)),
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
            remedy=_cut_remedy(remedy),
            retry=_cut(retry),
            times=times if isinstance(times, int) else 0,
        )


def cause_of_all(causes: Iterable[Cause]) -> Cause:
    """Return the first of the causes of a group, with a title that is true of each of them.

    Of numbers and addresses in which they differ, there is each value, or "…" in place of
    more than three.

    Args:
        causes: Of failures with the same `key`; at least one.
    """
    first, *others = causes
    found = [_DIFFERS.findall(each.title) for each in (first, *others)]
    values = zip(*(each for each in found if len(each) == len(found[0])), strict=True)
    title = _DIFFERS.sub(lambda _: _any_of(set(next(values))), first.title)
    return first._replace(title=title)


def _any_of(values: set[str]) -> str:
    if len(values) > _MOST_VALUES:
        return "…"
    *others, last = sorted(values, key=lambda each: (len(each), each))
    return f"{', '.join(others)} or {last}" if others else last


class Advice(NamedTuple):
    """What to do about several failures of one cause.

    Attributes:
        remedies: Each remedy, and what it is for; one for all, if they have the same.
        lines: What to paste, for each task whose failures all ask for the same.
        differs: Tasks whose failures ask for different lines: none of them is right for all.
    """

    remedies: tuple[tuple[str, tuple[str, ...]], ...]
    lines: tuple[str, ...]
    differs: tuple[str, ...]


def advice_on(failed: Iterable[tuple[str, str, Cause]]) -> Advice:
    """Return what to do about failures of one cause, and what to paste into which task.

    Failures of one cause may ask for different values, and each task has arguments of its
    own: what is right for one of them is not shown for the others.

    Args:
        failed: Of each failure the task, the name of its instance, and the cause.
    """
    by_text: dict[str, list[str]] = {}
    by_task: dict[str, dict[str, None]] = {}
    for task, instance, cause in failed:
        text, line = DIALECT.without_lines(cause.remedy)
        by_text.setdefault(text, []).append(instance)
        by_task.setdefault(task, {})[line] = None
    most_first = sorted(by_text.items(), key=lambda each: -len(each[1]))
    same = [next(iter(lines)) for lines in by_task.values() if len(lines) == 1]
    return Advice(
        remedies=tuple(
            (text, tuple(dict.fromkeys(names))) for text, names in most_first if text
        ),
        lines=tuple(dict.fromkeys(line for line in same if line)),
        differs=tuple(task for task, lines in by_task.items() if len(lines) > 1),
    )
