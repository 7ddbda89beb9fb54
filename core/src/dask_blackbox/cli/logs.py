"""`dask blackbox logs`: search the logs of a run."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from typing import TYPE_CHECKING

import click

from dask_blackbox.cli.options import (
    Verb,
    opened_run,
    opened_store,
    run_argument,
    screen,
    snapshots_of,
    store_option,
)
from dask_blackbox.tables.schemas import Row

if TYPE_CHECKING:  # heavy
    from dask_blackbox.reader import Run
    from dask_blackbox.report.log_lines import LogQuery

_LINES_AT_ONCE = 500
_EVERY = 2.0
_COLOURS = ((40, "red"), (30, "yellow"))


@click.command(
    cls=Verb,
    examples=[
        "logs",
        "logs nightly --level warning",
        "logs nightly/run-7 --role worker --since -30s",
        "logs latest --filter 'memory|spill' --json",
    ],
)
@run_argument
@store_option
@click.option(
    "--worker", metavar="W", help="Worker address or name, or an unambiguous part."
)
@click.option("--level", metavar="L", help="Minimum level: info, warning, error, …")
@click.option(
    "--since",
    metavar="T",
    help="ISO time (UTC), +10s (after the start) or -30s (before the end).",
)
@click.option("--until", metavar="T", help="Upper limit; same formats as --since.")
@click.option(
    "--filter",
    "pattern",
    metavar="REGEX",
    help="Regular expression that the message matches.",
)
@click.option(
    "--role",
    type=click.Choice(["scheduler", "worker", "nanny", "driver"]),
    help="Role of the process.",
)
@click.option("--task", metavar="KEY", help="Task key, or a part of it.")
@click.option(
    "--json", "as_lines_of_json", is_flag=True, help="Print one JSON object per line."
)
@click.option(
    "-f", "--follow", is_flag=True, help="Print new lines until the run has ended."
)
def logs(
    *,
    name: str,
    store_url: str | None,
    as_lines_of_json: bool,
    follow: bool,
    **query: str | None,
) -> None:
    """Search the logs of RUN: scheduler, workers, nannies and driver, by time."""
    from dask_blackbox.report.log_lines import LogQuery, as_json, as_text, chosen_lines

    store = opened_store(store_url)
    run = opened_run(store, name)
    asked = LogQuery(**query)
    colour = screen().colour

    def printed(row: Row) -> str:
        if as_lines_of_json:
            return as_json(row)
        line = as_text(row)
        return _coloured(line, row["level"]) if colour else line

    if follow:
        for line in _new_lines(snapshots_of(store, run, _EVERY), asked):
            click.echo(printed(line))
        return
    lines, why_none = chosen_lines(run, asked)
    if why_none is not None:
        click.echo(f"No matching line: {why_none}.", err=True)
    rows = lines.iter_rows(named=True)
    while ready := [*map(printed, islice(rows, _LINES_AT_ONCE))]:
        click.echo("\n".join(ready))


def _new_lines(looks: Iterator[Run], asked: LogQuery) -> Iterator[dict[str, object]]:
    """Yield each line once, as soon as the recording has it."""
    from dask_blackbox.report.log_lines import chosen_lines

    seen: set[tuple[object, ...]] = set()
    for run in looks:
        if run.logs.is_empty():
            continue
        lines, _ = chosen_lines(run, asked)
        for row in lines.iter_rows(named=True):
            mark = (row["source"], row["pid"], row["seq"], row["at"], row["message"])
            if mark not in seen:
                seen.add(mark)
                yield row


def _coloured(line: str, level: int | None) -> str:
    for least, colour in _COLOURS:
        if (level or 0) >= least:
            return click.style(line, fg=colour)
    return line
