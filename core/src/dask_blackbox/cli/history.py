"""`dask blackbox history`: a job's runs, failures and trends."""

from __future__ import annotations

import click
import msgspec

from dask_blackbox.cli.options import (
    Verb,
    jobs_beginning,
    opened_store,
    screen,
    store_option,
)

_PIPED = 240


@click.command(
    cls=Verb,
    examples=[
        "history nightly",
        "history nightly --limit 100 --json",
    ],
)
@click.argument("job", metavar="JOB", shell_complete=jobs_beginning)
@store_option
@click.option(
    "--limit",
    default=30,
    show_default=True,
    type=click.IntRange(min=1),
    help="Maximum number of runs.",
)
@click.option(
    "--all",
    "everything",
    is_flag=True,
    help="Read all runs, not only the newest that can be read in two seconds.",
)
@click.option("--json", "as_json", is_flag=True, help="Print JSON (docs/history.md).")
def history(
    *, job: str, store_url: str | None, limit: int, everything: bool, as_json: bool
) -> None:
    """List the runs of JOB: state, duration, input, and which failures are alike.

    It uses the sketches of runs, so it includes runs whose recordings were deleted.
    """
    from dask_blackbox.reader.job_histories import FOR_NAMES, job_history
    from dask_blackbox.report.history_text import history_text

    patience = None if everything else FOR_NAMES
    history = job_history(opened_store(store_url), job, limit=limit, timeout=patience)
    if as_json:
        click.echo(msgspec.json.format(msgspec.json.encode(history), indent=2))
        return
    shown_on = screen()
    click.echo(
        history_text(history, width=shown_on.width or _PIPED, colour=shown_on.colour)
    )
