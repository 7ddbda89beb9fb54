"""`dask blackbox show`: the card of a run."""

from __future__ import annotations

import sys
from functools import partial
from pathlib import Path

import click

from dask_blackbox.cli.options import (
    Verb,
    junit_option,
    links_option,
    opened_run,
    opened_store,
    print_rendered,
    printable,
    run_argument,
    store_option,
)


@click.command(
    cls=Verb,
    examples=[
        "show",
        "show nightly",
        "show nightly/run-7 --json",
        "show nightly --markdown",
        "show latest --verify",
    ],
)
@run_argument
@store_option
@click.option("--json", "as_json", is_flag=True, help="Print JSON (docs/card.md).")
@click.option("--markdown", "as_markdown", is_flag=True, help="Print Markdown.")
@junit_option
@click.option(
    "--verify",
    is_flag=True,
    help="Read the whole recording first; list damaged files and exit with 1.",
)
@links_option
def show(
    *,
    name: str,
    store_url: str | None,
    as_json: bool,
    as_markdown: bool,
    junit_path: Path | None,
    verify: bool,
    links: bool | None,
) -> None:
    """Show the card of RUN: why it failed, and what to do.

    For a run in progress, or one whose recorder was lost, it is built from the data in the
    store.
    """
    from dask_blackbox.report import markdown, text
    from dask_blackbox.serve.cards import card_of_run

    run = opened_run(opened_store(store_url), name)
    damage = run.verify() if verify else {}
    for blob, why in damage.items():  # first: what follows is only as good as that
        click.echo(f"damaged: {blob}: {why}", err=True)
    # Made again, so that it says what is damaged.
    card = printable(
        run.card() if damage else card_of_run(run), links, terminal=sys.stdout.isatty()
    )
    if junit_path is not None:
        from dask_blackbox.report.ci import junit

        try:
            junit_path.parent.mkdir(parents=True, exist_ok=True)
            junit_path.write_bytes(junit(card))
        except OSError as error:
            raise click.ClickException(f"the JUnit XML: {error}") from error
    if as_json:
        click.echo(card.to_json())
    elif as_markdown:
        click.echo(markdown(card), nl=False)
    else:
        print_rendered(partial(text, card))
    if damage:
        raise SystemExit(1)
