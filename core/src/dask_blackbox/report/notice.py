"""What is said of a run that has ended, to people who are not looking at it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

import msgspec

from dask_blackbox.card_data import CardData
from dask_blackbox.finding import WORSE, unusual
from dask_blackbox.formatting import command, plain, short
from dask_blackbox.patterns import bounded
from dask_blackbox.report.wording import (
    blame_text,
    change_text,
    note_texts,
    recurrence_text,
    retry_text,
)

_MOST_CHANGES = 3
_LONGEST_SUBJECT = 200

_MENTION: Final = bounded(
    r"<(?=[!@#]|\w{1,20}:)|(?<!\w)@(?=(?:all|channel|everyone|group|here|team)\b)"
)
"""What chat services take for a mention, which may call everybody, or for a named link."""


class Notice(msgspec.Struct, frozen=True, kw_only=True):
    """A message.

    Attributes:
        news: `failed`, `recovered`, `worse`, or `missing` of a job that did not run.
        subject: One line.
        text: Plain text: what happened, why, what to do, and where there is more.
    """

    news: str
    subject: str
    text: str


def card_facts(card: CardData) -> Iterator[tuple[str, str]]:
    """Yield what a card says beyond its headline, by name: why, what to do, what changed."""
    verdict = card.verdict
    if verdict is not None:
        yield "Why", plain(verdict.cause)
        if verdict.remedy:
            yield "What to do", plain(verdict.remedy)
        yield "Retry", retry_text(verdict)
    if card.past is not None and (blame := blame_text(card.past)):
        yield "What changed", plain(blame)
    elif changes := unusual(card.changes):
        texts = [change_text(each) for each in changes[:_MOST_CHANGES]]
        yield "What changed", plain("; ".join(texts))
    if seen := recurrence_text(card):
        yield "Seen", plain(seen)
    for each in note_texts(card):
        yield "Note", each


def notice_of(card: CardData, news: str, *, run: str, page: str | None) -> Notice:
    """Return what to send about a run.

    Args:
        news: `failed`, `recovered` or `worse`.
        run: What names it to commands.
        page: Its page in the viewer, if there is one.
    """
    outcome = card.headline
    if news == "worse":
        found = [each.title for each in card.findings if each.rule in WORSE]
        outcome = "; ".join(found) or outcome
    said = "recovered: " if news == "recovered" else ""
    subject = short(f"{plain(card.job)}: {said}{plain(outcome)}", _LONGEST_SUBJECT)
    facts = [f"{name}: {value}" for name, value in card_facts(card)]
    more = page or command("why", run)
    identity = f"Run: {plain(card.run_id)}, attempt {card.attempt}"
    return Notice(
        news=news,
        subject=subject.replace("\n", " "),
        text="\n".join([identity, *facts, "", f"More: {more}"]),
    )


def without_mentions(text: str) -> str:
    """Return a text that calls nobody where a chat service shows it, and names no link.

    What users' programs print may have `<!channel>` or `@everyone`; a zero-width space
    keeps it from being one.
    """
    return _MENTION.sub("\\g<0>\u200b", text)
