"""`dask blackbox ls`: the newest runs."""

from __future__ import annotations

import json
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any

import click
from rich.console import Console
from rich.table import Table
from rich.text import Text

from dask_blackbox.cli.options import opened_store, store_option
from dask_blackbox.errors import RecordingError

if TYPE_CHECKING:  # heavy
    from dask_blackbox.opened import RunEntry
    from dask_blackbox.serve.cards import Cards

__all__ = ["ls"]

_AT_ONCE = 8
_PIPED = 10_000
"""Columns where nobody looks: a line is not broken, so that `grep` finds it whole."""


@click.command()
@store_option
@click.option("--job", metavar="JOB", help="Runs of this job only.")
@click.option(
    "--limit",
    default=20,
    show_default=True,
    type=click.IntRange(min=1),
    help="How many runs at most.",
)
@click.option("--json", "as_json", is_flag=True, help="One object per line.")
def ls(*, store_url: str | None, job: str | None, limit: int, as_json: bool) -> None:
    """List the newest runs, with how each ended and why."""
    from dask_blackbox.serve.cards import Cards
    from dask_blackbox.serve.listing import page_of_runs

    store = opened_store(store_url)
    page = page_of_runs(store, job=job, size=limit)
    cards = Cards(store)
    with ThreadPoolExecutor(_AT_ONCE) as readers:
        rows = list(readers.map(lambda run: _row(cards, run), page.runs))
    if as_json:
        for row in rows:
            click.echo(json.dumps(row, ensure_ascii=False))
        return
    if not rows:
        of_job = f" of the job {job}" if job else ""
        click.echo(f"No run{of_job} is recorded in {store.url}.", err=True)
        return
    _print(rows)
    if page.older is not None:
        click.echo(f"There are older runs: --limit {limit * 5} shows more.", err=True)


def _row(cards: Cards, run: RunEntry) -> dict[str, Any]:
    job, run_id, attempt = run.address
    row = {
        "run": f"{job}/{run_id}/{attempt}",
        "job": job,
        "run_id": run_id,
        "attempt": attempt,
        "state": run.state,
        "started": run.started,
        "duration": None,
        "headline": None,
    }
    try:
        card = cards.card(run.address)
    except RecordingError as error:
        return row | {"headline": f"cannot be read: {error}"}
    return row | {
        "job": card.job,
        "run_id": card.run_id,
        "state": card.state,
        "duration": card.numbers.get("duration"),
        "headline": card.headline,
    }


def _print(rows: list[dict[str, Any]]) -> None:
    from dask_blackbox.report.words import STATE_SIGN, duration, moment, plain

    colours = {"succeeded": "green", "running": "cyan", "lost": "magenta"}
    table = Table(box=None, pad_edge=False, header_style="dim")
    table.add_column("STATE", no_wrap=True)
    table.add_column("RUN", overflow="fold")
    table.add_column("STARTED", no_wrap=True)
    table.add_column("TOOK", no_wrap=True, justify="right")
    table.add_column("HEADLINE", overflow="fold")
    for row in rows:
        state = f"{STATE_SIGN[row['state']]} {row['state']}"
        took = row["duration"]
        table.add_row(
            Text(state, style=colours.get(row["state"], "red")),
            Text(plain(f"{row['job']}/{row['run_id']}/{row['attempt']}")),
            moment(row["started"]),
            "" if took is None else duration(took),
            Text(plain(row["headline"] or "")),
        )
    console = Console()
    if not console.is_terminal:
        console = Console(width=_PIPED)
    with console.capture() as printed:
        console.print(table)
    click.echo("\n".join(line.rstrip() for line in printed.get().splitlines()))
