"""`dask blackbox logs`: search the logs of a run."""

from __future__ import annotations

import click

from dask_blackbox.cli.options import (
    opened_run,
    opened_store,
    run_argument,
    store_option,
)

__all__ = ["logs"]

_LINES_AT_ONCE = 500
_COLOURS = ((40, "red"), (30, "yellow"))


@click.command()
@run_argument
@store_option
@click.option(
    "--worker", metavar="W", help="Address or name, or a part that is unique."
)
@click.option("--level", metavar="L", help="The least level: info, warning, error, …")
@click.option(
    "--since",
    metavar="T",
    help="ISO time (UTC), +10s after the run's start, -30s before its end.",
)
@click.option("--until", metavar="T", help="As --since.")
@click.option("--filter", "pattern", metavar="REGEX", help="What the message contains.")
@click.option(
    "--role",
    type=click.Choice(["scheduler", "worker", "nanny", "driver"]),
    help="Whose lines.",
)
@click.option("--task", metavar="KEY", help="A task's key, or a part of it.")
@click.option("--json", "as_lines_of_json", is_flag=True, help="One object per line.")
def logs(
    *,
    name: str,
    store_url: str | None,
    as_lines_of_json: bool,
    **query: str | None,
) -> None:
    """Search the logs of RUN: scheduler, workers, nannies and driver on one clock."""
    from dask_blackbox.report.log_search import LogQuery, as_json, as_text, chosen_lines

    run = opened_run(opened_store(store_url), name)
    lines, why_none = chosen_lines(run, LogQuery(**query))
    if why_none is not None:
        click.echo(f"No line to show: {why_none}.", err=True)
    ready: list[str] = []
    for row in lines.iter_rows(named=True):
        if as_lines_of_json:
            ready.append(as_json(row))
        else:
            ready.append(_coloured(as_text(row), row["level"]))
        if len(ready) == _LINES_AT_ONCE:
            click.echo("\n".join(ready))
            ready.clear()
    if ready:
        click.echo("\n".join(ready))


def _coloured(line: str, level: int | None) -> str:
    for least, colour in _COLOURS:
        if (level or 0) >= least:
            return click.style(line, fg=colour)
    return line
