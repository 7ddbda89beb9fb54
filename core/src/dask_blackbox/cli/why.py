"""`dask blackbox why`: the verdict, line by line, each with how to see it."""

from __future__ import annotations

import json

import click

from dask_blackbox.cli.options import (
    Verb,
    opened_run,
    opened_store,
    run_argument,
    screen,
    store_option,
)


@click.command(
    cls=Verb,
    examples=[
        "why",
        "why nightly",
        "why nightly/run-7 --json",
    ],
)
@run_argument
@store_option
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def why(*, name: str, store_url: str | None, as_json: bool) -> None:
    """Explain why RUN failed: each piece of evidence, with a command that shows it.

    It also lists rejected causes, and why they were rejected.
    """
    from dask_blackbox.analyse.alternatives import rejected_causes
    from dask_blackbox.analyse.rule_settings import asking
    from dask_blackbox.report.why_text import why_as_dict, why_text
    from dask_blackbox.serve.cards import card_of_run

    asking()  # a mistake in the settings of the rules is reported before anything else
    run = opened_run(opened_store(store_url), name)
    card = card_of_run(run)
    others = rejected_causes(run, card.verdict)
    known_as = run.url or name
    if as_json:
        reported = why_as_dict(card, others, run=known_as)
        click.echo(json.dumps(reported, indent=2, ensure_ascii=False))
        return
    shown_on = screen()
    if shown_on.width is not None:
        width = shown_on.width
        click.echo(
            why_text(card, others, run=known_as, width=width, colour=shown_on.colour)
        )
    else:
        click.echo(why_text(card, others, run=known_as))
