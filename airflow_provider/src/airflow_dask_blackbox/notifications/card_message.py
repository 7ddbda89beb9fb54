"""A card as a message: for chats, for e-mail, and as plain text."""

from __future__ import annotations

import html
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from dask_blackbox.patterns import bounded

from airflow_dask_blackbox.addresses import TaskKey, tab_of
from airflow_dask_blackbox.task_log import verdict_of

if TYPE_CHECKING:
    # The real one needs msgspec only, but it is needed in tasks only, too.
    from dask_blackbox import RunCard

__all__ = ["CardMessage", "message_of"]

_LONGEST_SUBJECT: Final = 200
_LONGEST_SLACK: Final = 2_900
"""Slack cuts a text block at 3,000 characters."""
_MOST_CHANGES: Final = 3

_MARKUP: Final = bounded(r"(?<!\w)[*_~`]|[*_~`](?!\w)")
"""What Slack would take for bold parts and the like: a zero-width space keeps it from that."""


@dataclass(frozen=True, kw_only=True)
class CardMessage:
    """What there is to say of a task, ready for templates (`{{ dask.slack }}`).

    Attributes:
        subject: One line: the task and its verdict.
        text: Plain text.
        slack: Slack's own markup.
        html: For the body of an e-mail: no script, no style sheet.
        url: Of the task's tab "Dask run".
        card: The card; None: there is none.
    """

    subject: str
    text: str
    slack: str
    html: str
    url: str
    card: RunCard | None


def message_of(context: Mapping[str, Any], card: RunCard | None) -> CardMessage:
    """Return the message on the task instance of a context.

    Args:
        context: Airflow's.
        card: The card of its try, if there is one.
    """
    ti = context["ti"]
    key = TaskKey.of(ti)
    task = f"{key.dag_id}.{key.task_id}"
    if key.map_index >= 0:
        task += f" [{key.map_index}]"
    verdict = (
        "failed; there is no recording of it" if card is None else verdict_of(card)
    )
    url = tab_of(key, ti.try_number)
    facts = {
        "DAG run": key.run_id,
        "Try": str(ti.try_number),
        **dict(_facts(card)),
    }
    subject = f"{task}: {verdict}".replace("\n", " ")[:_LONGEST_SUBJECT]
    return CardMessage(
        subject=subject,
        text=_text(subject, facts, url),
        slack=_slack(task, verdict, facts, url),
        html=_html(task, verdict, facts, url),
        url=url,
        card=card,
    )


def _facts(card: RunCard | None) -> Iterator[tuple[str, str]]:
    if card is None:
        return
    from dask_blackbox.finding import unusual
    from dask_blackbox.formatting import plain
    from dask_blackbox.report.wording import (
        blame_text,
        change_text,
        recurrence_text,
        retry_text,
    )

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


def _text(subject: str, facts: Mapping[str, str], url: str) -> str:
    lines = [f"{name}: {value}" for name, value in facts.items()]
    return "\n".join([subject, "", *lines, "", f"Report: {url}"])


def _slack(task: str, verdict: str, facts: Mapping[str, str], url: str) -> str:
    head = f":x: *{_escaped(task)}*: {_escaped(verdict)}"
    foot = f"<{url}|Open the Dask run>"
    lines = [f"*{name}*: {_escaped(each)}" for name, each in facts.items()]
    body = "\n".join(lines)
    left = _LONGEST_SLACK - len(head) - len(foot) - 2
    if len(body) > left:
        body = body[: max(left - 1, 0)] + "…"
    return "\n".join((head[:_LONGEST_SLACK], body, foot))


def _escaped(text: str) -> str:
    """Return a text that Slack shows as it is, without links, mentions or bold parts."""
    for sign, name in (("&", "&amp;"), ("<", "&lt;"), (">", "&gt;")):
        text = text.replace(sign, name)
    return _MARKUP.sub("\\g<0>\u200b", text)


def _html(task: str, verdict: str, facts: Mapping[str, str], url: str) -> str:
    cell = "padding:4px 12px 4px 0;vertical-align:top"
    rows = "".join(
        f'<tr><td style="{cell};color:#666;white-space:nowrap">{html.escape(name)}</td>'
        f'<td style="{cell}">{_lines(each)}</td></tr>'
        for name, each in facts.items()
    )
    return (
        '<div style="font-family:sans-serif;max-width:50em">'
        f'<div style="color:#666">{html.escape(task)}</div>'
        '<div style="font-size:1.2em;font-weight:bold;color:#c62828;margin:4px 0 8px">'
        f"{html.escape(verdict)}</div>"
        f'<table style="border-collapse:collapse">{rows}</table>'
        f'<p><a href="{html.escape(url)}">Open the Dask run in Airflow</a></p></div>'
    )


def _lines(text: str) -> str:
    return html.escape(text).replace("\n", "<br>")
