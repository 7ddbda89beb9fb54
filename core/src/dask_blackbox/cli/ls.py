"""`dask blackbox ls`: the newest runs."""

from __future__ import annotations

import json
import textwrap
from collections.abc import Collection, Iterator
from concurrent.futures import ThreadPoolExecutor
from itertools import islice
from typing import TYPE_CHECKING

import click

from dask_blackbox.cli.options import (
    Screen,
    Verb,
    job_option,
    opened_store,
    require_folder,
    screen,
    store_option,
)
from dask_blackbox.errors import RecordingError, RunNotFoundError
from dask_blackbox.formatting import command, duration, moment, moment_of, plain
from dask_blackbox.tables.schemas import Row

if TYPE_CHECKING:  # heavy
    from dask_blackbox.reader import RunEntry
    from dask_blackbox.serve.cards import Cards
    from dask_blackbox.store import Store

_AT_ONCE = 8
_STATES = ("running", "succeeded", "failed", "aborted", "lost")
_HEADINGS = ("STATE", "RUN", "STARTED", "TOOK", "HEADLINE")
_NARROWEST = 30
"""Columns for a headline beside the run; with fewer, it gets lines of its own."""


@click.command(
    cls=Verb,
    examples=[
        "ls",
        "ls --job nightly --state failed",
        "ls --since 24h",
        "ls --store s3://dask-runs/etl --json",
    ],
)
@store_option
@job_option
@click.option(
    "--state",
    "states",
    type=click.Choice(_STATES),
    multiple=True,
    help="Only runs in this state (repeatable).",
)
@click.option(
    "--since",
    metavar="WHEN",
    help="Only runs started since: 24h, '7 days', 2026-11-21 (UTC).",
)
@click.option(
    "--limit",
    default=20,
    show_default=True,
    type=click.IntRange(min=1),
    help="Maximum number of runs.",
)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object per line.")
def ls(
    *,
    store_url: str | None,
    job: str | None,
    states: tuple[str, ...],
    since: str | None,
    limit: int,
    as_json: bool,
) -> None:
    """List the newest runs, with state and headline."""
    from dask_blackbox.serve.cards import Cards

    store = opened_store(store_url)
    after = None if since is None else moment_of(since, "--since")
    found = _entries(store, job=job, states=states, after=after)
    runs = list(islice(found, limit + 1))
    cards = Cards(store)
    with ThreadPoolExecutor(_AT_ONCE) as readers:
        rows = list(readers.map(lambda run: _row(cards, run), runs[:limit]))
    if not rows:
        require_folder(store.url)
    if as_json:
        for row in rows:
            click.echo(json.dumps(row, ensure_ascii=False))
        return
    if not rows:
        such = " such" if job or states or since else ""
        click.echo(f"No{such} run in {store.url}.", err=True)
        return
    for line in _lines(rows, screen()):
        click.echo(line)
    if len(runs) > limit:
        more = command("ls", "--limit", str(limit * 5), store=store_url)
        click.echo(f"Older runs exist: {more}", err=True)


def _entries(
    store: Store, *, job: str | None, states: Collection[str], after: float | None
) -> Iterator[RunEntry]:
    from dask_blackbox.reader.run_index import entries, marked_runs
    from dask_blackbox.reader.run_lookup import find_job

    named = None if job is None else find_job(store, job)
    # Whether a run is running or lost is asked of its heartbeat, one by one.
    listed = entries if {"running", "lost"} & set(states) else marked_runs
    for entry in listed(store, job=named):
        if after is not None and entry.started < after:
            return
        if not states or entry.state in states:
            yield entry


def _row(cards: Cards, run: RunEntry) -> dict[str, object]:
    job, run_id, attempt = run.address
    row = {
        "run": run.address.name,
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
    except RunNotFoundError:
        return row | {"headline": "its recording was deleted"}
    except RecordingError as error:
        return row | {"headline": f"cannot be read: {error}"}
    return row | {
        "job": card.job,
        "run_id": card.run_id,
        "state": card.state,
        "duration": card.numbers.get("duration"),
        "headline": card.headline,
    }


def _lines(rows: list[Row], shown_on: Screen) -> Iterator[str]:
    """Yield the table: whatever the width, the name of a run stays in one piece."""
    cells = [_cells(row) for row in rows]
    widths = [max(map(len, column)) for column in zip(_HEADINGS, *cells, strict=True)]
    before = sum(widths[:4]) + 2 * 4
    left = None if shown_on.width is None else shown_on.width - before
    beside = left is None or left >= _NARROWEST
    heading = _joined(_HEADINGS[: 5 if beside else 4], widths)
    yield click.style(heading, dim=True) if shown_on.colour else heading
    for row, cell in zip(rows, cells, strict=True):
        state = _coloured(cell[0].ljust(widths[0]), row["state"], shown_on)
        line = state + _joined(cell[:4], widths)[widths[0] :]
        headline = " ".join(plain(cell[4]).split())
        if left is None:
            yield f"{line}  {headline}".rstrip()
            continue
        width, indent = (left, before) if beside else ((shown_on.width or 80) - 2, 2)
        wrapped = textwrap.wrap(headline, max(width, 20)) or [""]
        if beside:
            yield f"{line}  {wrapped[0]}".rstrip()
            wrapped = wrapped[1:]
        else:
            yield line.rstrip()
        yield from (f"{' ' * indent}{each}" for each in wrapped if each)


def _cells(row: Row) -> tuple[str, str, str, str, str]:
    from dask_blackbox.report.wording import STATE_SIGN

    took = row["duration"]
    return (
        f"{STATE_SIGN[row['state']]} {row['state']}",
        plain(f"{row['job']}/{row['run_id']}/{row['attempt']}"),
        moment(row["started"]),
        "" if took is None else duration(took),
        row["headline"] or "",
    )


def _joined(cells: tuple[str, ...], widths: list[int]) -> str:
    took = 3
    padded = [
        cell.rjust(widths[n]) if n == took else cell.ljust(widths[n] if n < took else 0)
        for n, cell in enumerate(cells)
    ]
    return "  ".join(padded)


def _coloured(text: str, state: str, shown_on: Screen) -> str:
    colours = {"succeeded": "green", "running": "cyan", "lost": "magenta"}
    return click.style(text, fg=colours.get(state, "red")) if shown_on.colour else text
