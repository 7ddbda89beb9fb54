"""`dask blackbox why`: the verdict, line by line, each with how to see it."""

from __future__ import annotations

import json
from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING

import click
from rich.console import Console
from rich.padding import Padding
from rich.text import Text

from dask_blackbox.cli.options import (
    Verb,
    opened_run,
    opened_store,
    print_rendered,
    run_argument,
    store_option,
)
from dask_blackbox.finding import CurrentState, Evidence, Finding
from dask_blackbox.formatting import clock, plain
from dask_blackbox.reader.reasons import code_around, how_to_see, why_as_dict
from dask_blackbox.report.markdown_card import MOST_OF_REASONS, markdown_reasons
from dask_blackbox.report.text_card import Paper, whole_change
from dask_blackbox.report.wording import (
    CONFIDENCE,
    blame_text,
    coverage_text,
    current_rows,
    good_run_text,
    habits_text,
    note_texts,
    recurrence_text,
    retry_text,
)
from dask_blackbox.serve.brief import brief

if TYPE_CHECKING:
    # Loaded with analysis, which `--help` does without.
    from dask_blackbox.analyse.alternatives import RejectedCause
    from dask_blackbox.card import RunCard


@click.command(
    cls=Verb,
    examples=[
        "why",
        "why nightly",
        "why nightly/run-7 --json",
        "why nightly/run-7 --markdown",
    ],
)
@run_argument
@store_option
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@click.option("--markdown", "as_markdown", is_flag=True, help="Print Markdown.")
def why(*, name: str, store_url: str | None, as_json: bool, as_markdown: bool) -> None:
    """Explain why RUN failed: each piece of evidence, with a command that shows it.

    It also lists rejected causes, and why they were rejected.  JSON and Markdown have at
    most 8,000 bytes, and say what was left out.
    """
    from dask_blackbox.analyse.alternatives import rejected_causes
    from dask_blackbox.analyse.rule_settings import asking
    from dask_blackbox.serve.cards import card_of_run

    asking()  # a mistake in the settings of the rules is reported before anything else
    run = opened_run(opened_store(store_url), name)
    card = card_of_run(run)
    others = rejected_causes(run, card.verdict)
    known_as = run.url or name
    if as_json:
        click.echo(
            json_reasons(
                why_as_dict(
                    card, others, run=known_as, code=code_around(run, card.verdict)
                )
            )
        )
        return
    if as_markdown:
        sentences = [f"{each.what}: {each.why_not}." for each in others]
        see = partial(how_to_see, run=known_as)
        click.echo(markdown_reasons(card, sentences, see), nl=False)
        return
    print_rendered(partial(why_text, card, others, run=known_as))


_NARROWEST = 60


def json_reasons(reasons: dict[str, object]) -> str:
    """Return the reasons, with all of their fields, in at most as many bytes as Markdown has."""
    for indent in (2, None):
        text = json.dumps(reasons, indent=indent, ensure_ascii=False)
        if len(text.encode()) <= MOST_OF_REASONS:
            return text
    fields = json.dumps(dict.fromkeys(reasons))
    shorter = json.loads(brief(reasons, MOST_OF_REASONS - len(fields)))
    return json.dumps(dict.fromkeys(reasons) | shorter, ensure_ascii=False)


def why_text(
    card: RunCard,
    others: Sequence[RejectedCause],
    *,
    run: str,
    width: int = 100,
    colour: bool = False,
) -> str:
    """Return why a run failed, with each fact that says so.

    Args:
        run: What names the run to other commands.
        width: Columns; commands are longer than that where they have to be.
        colour: With terminal colours.
    """
    console = Paper(width=max(width, _NARROWEST), colour=colour)
    console.print(
        Text(f"{plain(card.job)} · {plain(card.run_id)} · attempt {card.attempt}: ")
        + Text(card.state, style="bold"),
    )
    if card.verdict is not None:
        _chain(console, card)
        _finding(console, card.verdict, run)
    elif card.now is not None:
        _current_state(console, card, card.now, run)
    elif card.findings:
        console.print("It did not fail. Other findings:")
    else:
        console.print("It did not fail, and there are no findings.")
    if card.verdict is None:
        for found in card.findings:
            _finding(console, found, run)
    _notes(console, card)
    _changed(console, card)
    if others:
        console.print()
        console.print(Text("Rejected causes", style="bold"))
        for each in others:
            _indented(console, Text(f"· {plain(each.what)}: {plain(each.why_not)}."))
    return console.text()


def _current_state(
    console: Console, card: RunCard, now: CurrentState, run: str
) -> None:
    """Print what a run that continues is doing, with the evidence."""
    rule = f"  ({now.rule})" if now.rule else ""
    console.print(Text(plain(now.text), style="bold") + Text(rule, "dim"))
    for label, text in current_rows(card):
        if label != "now":
            _indented(
                console, Text(f"{label}: ", style="dim") + Text(text, style="not dim")
            )
    _facts(console, now.evidence, run)


def _chain(console: Console, card: RunCard) -> None:
    """Print the steps from the root to the outcome, each with its time."""
    if not card.chain:
        return
    console.print()
    console.print(Text("Chain, from the cause to the outcome", style="bold"))
    for number, step in enumerate(card.chain, 1):
        at = f"{clock(step.at)}  " if step.at is not None else ""
        text = Text(f"{number}. ") + Text(at, style="cyan") + Text(plain(step.text))
        _indented(console, text)


def _finding(console: Console, found: Finding, run: str) -> None:
    console.print()
    console.print(
        Text(plain(found.title), style="bold") + Text(f"  ({found.rule})", "dim")
    )
    _indented(console, Text(plain(found.cause)))
    for label, text in (
        ("do", plain(found.remedy)),
        ("retry", retry_text(found)),
        ("confidence", CONFIDENCE[found.confidence]),
    ):
        if text:
            _indented(
                console, Text(f"{label}: ", style="dim") + Text(text, style="not dim")
            )
    _facts(console, found.evidence, run)


def _facts(console: Console, evidence: Sequence[Evidence], run: str) -> None:
    for number, fact in enumerate(evidence, 1):
        console.print()
        at = f"{clock(fact.at)}  " if fact.at is not None else ""
        head = Text(f"{number}. ", style="bold") + Text(
            f"{fact.source}  {at}", style="cyan"
        )
        console.print(head)
        _indented(console, Text(plain(fact.text).strip("\n")))
        # One line however long: a broken command is no command.
        line = Text(f"   $ {how_to_see(fact, run)}", style="green")
        console.print(line, soft_wrap=True)


def _notes(console: Console, card: RunCard) -> None:
    if notes := note_texts(card):
        console.print()
        console.print(Text("Notes", style="bold"))
        for each in notes:
            _indented(console, Text(each))


def _changed(console: Console, card: RunCard) -> None:
    """Print what changed since the last good run, and how to see all of it."""
    past = card.past
    if past is None or not (blame_text(past) or card.changes):
        return
    console.print()
    console.print(Text("What changed since the last good run", style="bold"))
    _indented(console, Text(blame_text(past)))
    for change in card.changes:
        _indented(console, whole_change("· ", change))
    reported = [coverage_text(past), habits_text(past), recurrence_text(card)]
    if past.last_good is not None:
        reported.insert(0, f"compared with {good_run_text(past.last_good)}")
    for each in reported:
        if each:
            _indented(console, Text(each, style="dim"))
    if past.compare:
        line = Text(f"   $ {plain(past.compare)}", style="green")
        console.print(line, soft_wrap=True)


def _indented(console: Console, text: Text) -> None:
    console.print(Padding(text, (0, 0, 0, 3)))
