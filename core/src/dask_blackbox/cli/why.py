"""`dask blackbox why`: the verdict, line by line, each with how to see it."""

from __future__ import annotations

import json

import click
from rich.console import Console

from dask_blackbox.cli.options import (
    opened_run,
    opened_store,
    run_argument,
    store_option,
)

__all__ = ["why"]


@click.command()
@run_argument
@store_option
@click.option("--json", "as_json", is_flag=True, help="As JSON.")
def why(*, name: str, store_url: str | None, as_json: bool) -> None:
    """Say why RUN failed: the evidence line by line, each with how to see it.

    And what else was considered, with why it is not the cause.
    """
    from dask_blackbox.analyse.asking import asking
    from dask_blackbox.analyse.considered import considered
    from dask_blackbox.report.why_text import why_as_dict, why_text
    from dask_blackbox.serve.stored import card_of_run

    asking()  # a mistake in the settings of the rules is told before anything else
    run = opened_run(opened_store(store_url), name)
    card = card_of_run(run)
    others = considered(run, card.verdict)
    known_as = run.url or name
    if as_json:
        told = why_as_dict(card, others, run=known_as)
        click.echo(json.dumps(told, indent=2, ensure_ascii=False))
        return
    console = Console()
    if console.is_terminal:
        width = console.width
        click.echo(why_text(card, others, run=known_as, width=width, colour=True))
    else:
        click.echo(why_text(card, others, run=known_as))
