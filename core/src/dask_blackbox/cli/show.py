"""`dask blackbox show`: the card of a run."""

from __future__ import annotations

import click
from rich.console import Console

from dask_blackbox.cli.options import (
    opened_run,
    opened_store,
    run_argument,
    store_option,
)

__all__ = ["show"]


@click.command()
@run_argument
@store_option
@click.option("--json", "as_json", is_flag=True, help="As JSON (docs/card.md).")
@click.option(
    "--verify",
    is_flag=True,
    help="Read all of the recording first; name what is damaged, and end with 1.",
)
def show(*, name: str, store_url: str | None, as_json: bool, verify: bool) -> None:
    """Show the card of RUN: why it failed, and what to do.

    Of a run that has not ended, or whose recorder died, the card is made from what was
    recorded so far.
    """
    from dask_blackbox.report import text
    from dask_blackbox.serve.stored import card_of_run

    run = opened_run(opened_store(store_url), name)
    damage = run.verify() if verify else {}
    # Made anew, so that it says what is damaged.
    card = run.card() if damage else card_of_run(run)
    console = Console()
    if as_json:
        click.echo(card.to_json())
    elif console.is_terminal:
        click.echo(text(card, width=console.width, colour=True))
    else:
        click.echo(text(card))
    for blob, why in damage.items():
        click.echo(f"damaged: {blob}: {why}", err=True)
    if damage:
        raise SystemExit(1)
