"""What a notifier sends: for chats, for e-mail, and as plain text."""

from __future__ import annotations

import html
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from dask_blackbox.patterns import bounded

from airflow_dask_blackbox.addresses import TaskKey, tab_of
from airflow_dask_blackbox.task_log import verdict_of

if TYPE_CHECKING:
    # The real one needs msgspec only, but it is needed in tasks only, too.
    from dask_blackbox import RunCard

__all__ = ["CardMessage", "composed", "message_of"]

_LONGEST_SUBJECT: Final = 200
_LONGEST_SLACK: Final = 2_900
"""Slack cuts a text block at 3,000 characters."""

_MARKUP: Final = bounded(r"(?<!\w)[*_~`]|[*_~`](?!\w)")
"""What Slack would take for bold parts and the like: a zero-width space keeps it from that."""


@dataclass(frozen=True, kw_only=True)
class CardMessage:
    """What there is to say of a task or of a DAG run, ready for templates (`{{ dask.slack }}`).

    Attributes:
        subject: One line: the task and its verdict, or the DAG and how many tasks failed.
        text: Plain text.
        slack: Slack's own markup.
        html: For the body of an e-mail: no script, no style sheet.
        url: Of the task's tab "Dask run", or the DAG run's "Dask runs".
        card: The card; None: there is none, or the message is about a DAG run.
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
        label = getattr(ti, "rendered_map_index", None) or key.map_index
        task += f" [{label}]"
    return composed(
        about=task,
        outcome="failed; there is no recording of it"
        if card is None
        else verdict_of(card),
        facts=[
            ("DAG run", key.run_id),
            ("Try", str(ti.try_number)),
            *_facts(card),
        ],
        url=tab_of(key, ti.try_number),
        card=card,
    )


def composed(
    *,
    about: str,
    outcome: str,
    facts: Sequence[tuple[str, str]],
    url: str,
    button: str = "Open the Dask run",
    card: RunCard | None = None,
    failed: bool = True,
) -> CardMessage:
    """Return a message.

    Args:
        about: What it is about.
        outcome: The line to read.
        facts: What else there is to say, by name.
        url: Where there is more.
        button: What the link to that is called.
        card: The card, for templates.
        failed: Whether it is bad news.
    """
    subject = f"{about}: {outcome}".replace("\n", " ")[:_LONGEST_SUBJECT]
    return CardMessage(
        subject=subject,
        text=_text(subject, facts, url),
        slack=_slack(about, outcome, facts, f"<{url}|{button}>", failed=failed),
        html=_html(about, outcome, facts, url, button),
        url=url,
        card=card,
    )


def _facts(card: RunCard | None) -> Iterator[tuple[str, str]]:
    if card is not None:
        from dask_blackbox.report.notice import card_facts

        yield from card_facts(card)


def _text(subject: str, facts: Iterable[tuple[str, str]], url: str) -> str:
    lines = [f"{name}: {value}" for name, value in facts]
    return "\n".join([subject, "", *lines, "", f"Report: {url}"])


def _slack(
    about: str,
    outcome: str,
    facts: Iterable[tuple[str, str]],
    foot: str,
    *,
    failed: bool,
) -> str:
    sign = ":x:" if failed else ":white_check_mark:"
    head = f"{sign} *{_escaped(about)}*: {_escaped(outcome)}"
    lines = [f"*{name}*: {_escaped(each)}" for name, each in facts]
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


def _html(
    about: str, outcome: str, facts: Iterable[tuple[str, str]], url: str, button: str
) -> str:
    cell = "padding:4px 12px 4px 0;vertical-align:top"
    rows = "".join(
        f'<tr><td style="{cell};color:#666;white-space:nowrap">{html.escape(name)}</td>'
        f'<td style="{cell}">{_lines(each)}</td></tr>'
        for name, each in facts
    )
    return (
        '<div style="font-family:sans-serif;max-width:50em">'
        f'<div style="color:#666">{html.escape(about)}</div>'
        '<div style="font-size:1.2em;font-weight:bold;color:#c62828;margin:4px 0 8px">'
        f"{html.escape(outcome)}</div>"
        f'<table style="border-collapse:collapse">{rows}</table>'
        f'<p><a href="{html.escape(url)}">{button} in Airflow</a></p></div>'
    )


def _lines(text: str) -> str:
    return html.escape(text).replace("\n", "<br>")
