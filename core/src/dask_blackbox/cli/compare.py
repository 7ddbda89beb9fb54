"""`dask blackbox compare`: everything in which two runs differ."""

from __future__ import annotations

import click
import msgspec

from dask_blackbox.cli.options import (
    Verb,
    opened_store,
    runs_beginning,
    screen,
    store_option,
)

_PIPED = 160


@click.command(
    cls=Verb,
    examples=[
        "compare nightly/run-6 nightly/run-7",
        "compare nightly/run-6 latest --json",
    ],
)
@click.argument("before", metavar="RUN", shell_complete=runs_beginning)
@click.argument("after", metavar="RUN", shell_complete=runs_beginning)
@store_option
@click.option("--json", "as_json", is_flag=True, help="Print JSON (docs/history.md).")
def compare(*, before: str, after: str, store_url: str | None, as_json: bool) -> None:
    """Show how the second RUN differs from the first.

    Prints what changed, most relevant first; the numbers of both; and their tasks by
    prefix, largest change first. A run without a recording is compared by its sketch.
    """
    from dask_blackbox.reader.comparing import compare_runs
    from dask_blackbox.report.comparison_text import comparison_text

    comparison = compare_runs(opened_store(store_url), before, after)
    if as_json:
        click.echo(msgspec.json.format(msgspec.json.encode(comparison), indent=2))
        return
    shown_on = screen()
    click.echo(
        comparison_text(
            comparison, width=shown_on.width or _PIPED, colour=shown_on.colour
        )
    )
