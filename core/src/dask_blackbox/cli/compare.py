"""`dask blackbox compare`: everything in which two runs differ."""

from __future__ import annotations

import click
import msgspec
from rich.console import Console

from dask_blackbox.cli.options import opened_store, store_option

__all__ = ["compare"]

_PIPED = 160


@click.command()
@click.argument("before", metavar="RUN")
@click.argument("after", metavar="RUN")
@store_option
@click.option("--json", "as_json", is_flag=True, help="As JSON (docs/history.md).")
def compare(*, before: str, after: str, store_url: str | None, as_json: bool) -> None:
    """Show in what the second RUN differs from the first.

    What changed, by how telling it is; the numbers of both; and their tasks by prefix, those
    that changed most first. A run whose recording is gone is compared by its sketch.
    """
    from dask_blackbox.opened.comparing import compare_runs
    from dask_blackbox.report.comparison_text import comparison_text

    told = compare_runs(opened_store(store_url), before, after)
    if as_json:
        click.echo(msgspec.json.format(msgspec.json.encode(told), indent=2))
        return
    console = Console()
    terminal = console.is_terminal
    click.echo(
        comparison_text(
            told, width=console.width if terminal else _PIPED, colour=terminal
        )
    )
