"""`dask blackbox history`: a job's runs, failures and trends."""

from __future__ import annotations

import click
import msgspec
from rich.console import Console

from dask_blackbox.cli.options import opened_store, store_option

__all__ = ["history"]

_PIPED = 240


@click.command()
@click.argument("job", metavar="JOB")
@store_option
@click.option(
    "--limit",
    default=30,
    show_default=True,
    type=click.IntRange(min=1),
    help="How many runs to list at most.",
)
@click.option(
    "--all",
    "everything",
    is_flag=True,
    help="Look at all runs, not only at as many of the newest as two seconds allow.",
)
@click.option("--json", "as_json", is_flag=True, help="As JSON (docs/history.md).")
def history(
    *, job: str, store_url: str | None, limit: int, everything: bool, as_json: bool
) -> None:
    """List the runs of JOB: how each ended, what it took, and which failures are alike.

    It is told by the sketches that runs leave, so also of runs whose recordings are gone.
    """
    from dask_blackbox.opened.job_histories import FOR_NAMES, job_history
    from dask_blackbox.report.history_text import history_text

    patience = None if everything else FOR_NAMES
    told = job_history(opened_store(store_url), job, limit=limit, patience=patience)
    if as_json:
        click.echo(msgspec.json.format(msgspec.json.encode(told), indent=2))
        return
    console = Console()
    terminal = console.is_terminal
    click.echo(
        history_text(told, width=console.width if terminal else _PIPED, colour=terminal)
    )
