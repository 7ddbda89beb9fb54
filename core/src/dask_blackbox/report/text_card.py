"""The card as text on one screen: for terminals, and as plain lines in a host's task log.

No frames and no columns that need a fixed-width neighbour: each line still reads well
when a log puts its own time stamp in front of it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from io import StringIO

from rich.console import Console
from rich.table import Table
from rich.text import Text

from dask_blackbox.card_data import CardData
from dask_blackbox.finding import Change, Evidence, Finding
from dask_blackbox.formatting import clock, plain
from dask_blackbox.report.wording import (
    CONFIDENCE,
    STATE_SIGN,
    blame_text,
    chain_beyond_headline,
    chain_text,
    change_text,
    coverage_text,
    current_rows,
    damage_text,
    diffs_of,
    explained_text,
    full_headline,
    good_run_text,
    habits_text,
    missing_data,
    note_texts,
    ordered_links,
    rarity_text,
    recurrence_text,
    retry_text,
    shown_numbers,
    subject_text,
)

_MOST_EVIDENCE = 6
_MOST_CHANGES = 5
_MOST_FINDINGS = 8
_MOST_LINES_OF_A_DIFF = 10
_MOST_LINES_OF_ONE_FACT = 6
_NARROWEST = 40
_INDENT = 14

_STATE_STYLE = {
    "running": "bold cyan",
    "succeeded": "bold green",
    "failed": "bold red",
    "aborted": "bold red",
    "lost": "bold magenta",
}
_SEVERITY_SIGN = {"failure": "✖", "warning": "!", "notice": "·"}


def text(card: CardData, *, width: int = 100, colour: bool = False) -> str:
    """Return the card as text.

    Args:
        width: Columns; links are longer than that where they have to be.
        colour: With terminal colours.
    """
    console = Paper(width=max(width, _NARROWEST), colour=colour)
    _head(console, card)
    rows = Table.grid(padding=(0, 2, 0, 0), pad_edge=False)
    rows.add_column(style="dim", no_wrap=True)
    rows.add_column(overflow="fold")
    for label, message in _rows(card, console.width - _INDENT):
        rows.add_row(f"  {label}", message)
    if rows.row_count:
        console.print()
        console.print(rows)
    _links(console, card)
    return console.text()


def _head(console: Console, card: CardData) -> None:
    head = Text()
    head.append(
        f"{STATE_SIGN[card.state]} {card.state.upper()}", style=_STATE_STYLE[card.state]
    )
    head.append(f"  {plain(card.job)} · {plain(card.run_id)} · attempt {card.attempt}")
    console.print(head, overflow="fold")
    if damaged := damage_text(card):
        console.print(Text(f"! {damaged}", style="bold yellow"), overflow="fold")
    console.print(Text(plain(full_headline(card)), style="bold"), overflow="fold")
    if not card.completeness.get("recorded", True):
        for sentence in missing_data(card):
            console.print(Text(f"! {sentence}", style="bold yellow"), overflow="fold")


def _rows(card: CardData, width: int) -> Iterator[tuple[str, Text]]:
    if card.verdict is not None:
        yield from _verdict(card, card.verdict)
    yield from ((label, Text(message)) for label, message in current_rows(card))
    if card.now is not None:
        evidence = [_fact(fact) for fact in card.now.evidence]
        yield from _listed("evidence", _first(evidence, _MOST_EVIDENCE))
    if chain := chain_beyond_headline(card):
        yield "chain", Text(chain_text(chain))
    yield from _past(card)
    findings = [
        Text(f"{_SEVERITY_SIGN[found.severity]} {plain(found.title)} ({found.rule})")
        for found in card.findings
    ]
    yield from _listed("also", _first(findings, _MOST_FINDINGS))
    measured = [f"{label} {value}" for label, value in shown_numbers(card)]
    if measured:
        yield "numbers", Text(_flowed(measured, width))
    if card.completeness.get("recorded", True):
        yield from _listed("missing", [Text(line) for line in missing_data(card)])


def _verdict(card: CardData, verdict: Finding) -> Iterator[tuple[str, Text]]:
    title = Text(plain(verdict.title), style="bold")
    cause = Text(plain(verdict.cause))
    repeated = verdict.cause and full_headline(card) == verdict.title
    reason = cause if repeated else title
    reason.append(f"  ({verdict.rule})", style="not bold dim")
    yield "why", reason
    if verdict.cause and not repeated:
        yield "", cause
    if verdict.remedy:
        yield "do", Text(plain(verdict.remedy))
    yield "retry", Text(retry_text(verdict))
    yield "confidence", Text(CONFIDENCE[verdict.confidence])
    about = subject_text(verdict.subject)
    if about:
        yield "about", Text(about)
    evidence = [_fact(fact) for fact in verdict.evidence]
    yield from _listed("evidence", _first(evidence, _MOST_EVIDENCE))


def _past(card: CardData) -> Iterator[tuple[str, Text]]:
    """Yield what changed since the last good run, and what the earlier runs say."""
    seen = recurrence_text(card)
    if seen:
        yield "seen", Text(seen)
    yield from _listed("note", [Text(each) for each in note_texts(card)])
    past = card.past
    changes = [_change(change) for change in card.changes]
    changes = _first(changes, _MOST_CHANGES)
    if past is not None and blame_text(past):
        changes.insert(0, Text(blame_text(past), style="bold"))
    yield from _listed("changed", changes)
    if past is None:
        return
    reported = []
    if past.last_good is not None:
        reported.append(f"compared with {good_run_text(past.last_good)}")
    if card.verdict is not None or card.changes:
        reported += [coverage_text(past), habits_text(past), plain(past.compare or "")]
    yield from _listed("", [Text(each, style="dim") for each in reported if each])


def whole_change(beginning: str, change: Change) -> Text:
    """Return a change with all that it explains, and its whole diff.

    Args:
        beginning: What the first line begins with; the others are indented further.
    """
    message = Text(beginning) + _change_in_a_line(change)
    indent = " " * (len(beginning) + 2)
    for effect in change.explains:
        message.append(f"\n{indent}explains {change_text(effect)}", style="dim")
    for line in diffs_of(change):
        message.append(f"\n{indent}{line}")
    return message


def _change_in_a_line(change: Change) -> Text:
    message = Text(change_text(change))
    more = [each for each in (rarity_text(change.rarity), change.why) if each]
    if more:
        message.append(f"  ({plain('; '.join(more))})", style="dim")
    return message


def _change(change: Change) -> Text:
    message = _change_in_a_line(change)
    if change.explains:
        message.append(f"\n  {explained_text(change)}", style="dim")
    diff = diffs_of(change)
    for line in diff[:_MOST_LINES_OF_A_DIFF]:
        message.append(f"\n  {line}")
    if len(diff) > _MOST_LINES_OF_A_DIFF:
        omitted = len(diff) - _MOST_LINES_OF_A_DIFF
        message.append(f"\n  … {omitted} more lines", style="dim")
    return message


def _fact(fact: Evidence) -> Text:
    lines = plain(fact.text).strip().split("\n")
    lines = [line for line in lines if line.strip(" ~^")]
    if len(lines) > _MOST_LINES_OF_ONE_FACT:
        # The end of a traceback says more than its middle.
        tail = lines[-(_MOST_LINES_OF_ONE_FACT - 2) :]
        omitted = len(lines) - 1 - len(tail)
        lines = [lines[0], f"  … {omitted} more lines …", *tail]
    message = Text(f"{clock(fact.at)}  " if fact.at is not None else "", style="cyan")
    message.append("\n".join(lines), style="default")
    return message


def _first(items: list[Text], most: int) -> list[Text]:
    if len(items) <= most:
        return items
    return [*items[:most], Text(f"+{len(items) - most} more", style="dim")]


def _flowed(items: list[str], width: int) -> str:
    """Return items on as few lines as hold them, none torn apart."""
    lines = [""]
    for item in items:
        longer = f"{lines[-1]} · {item}" if lines[-1] else item
        if lines[-1] and len(longer) > width:
            lines.append(item)
        else:
            lines[-1] = longer
    return "\n".join(lines)


def _listed(label: str, items: list[Text]) -> Iterator[tuple[str, Text]]:
    for place, item in enumerate(items):
        yield label if place == 0 else "", item


def _links(console: Console, card: CardData) -> None:
    links = ordered_links(card.links)
    if not links:
        return
    console.print()
    longest = max(len(name) for name, _ in links)
    for name, address in links:
        # One line each however long: a broken link is no link.
        line = Text(f"  {name:<{longest}}  ", style="dim")
        line.append(address, style="not dim")
        console.print(line, soft_wrap=True)


class Paper(Console):
    """A console that writes what it prints into a string.

    Args:
        colour: With terminal colours.
    """

    def __init__(self, *, width: int = 100, colour: bool = False) -> None:
        self._written = StringIO()
        super().__init__(
            file=self._written,
            width=width,
            force_terminal=colour,
            color_system="standard" if colour else None,
            highlight=False,
            emoji=False,
            markup=False,
        )

    def text(self) -> str:
        """Return what was printed, without blanks at the ends of its lines."""
        lines = self._written.getvalue().splitlines()
        return "\n".join(line.rstrip() for line in lines)


def printed(
    parts: Iterable[Text | Table], *, width: int = 100, colour: bool = False
) -> str:
    """Return parts as lines of text, one below the other; see `Paper`."""
    paper = Paper(width=width, colour=colour)
    for part in parts:
        paper.print(part, overflow="fold")
    return paper.text()
