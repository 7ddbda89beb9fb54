"""`dask blackbox top`: the progress of a run, from its recording."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from dask_blackbox.cli.options import (
    Verb,
    opened_run,
    opened_store,
    run_argument,
    snapshots_of,
    store_option,
)
from dask_blackbox.formatting import count, duration, exact_size, plain
from dask_blackbox.manifest import Progress

if TYPE_CHECKING:  # heavy
    from rich.console import Group

    from dask_blackbox.finding import CurrentState
    from dask_blackbox.reader import Run

_WARNING = 30
_LINES = 6


@click.command(
    cls=Verb,
    examples=[
        "top",
        "top nightly",
        "top --store s3://dask-runs/etl --interval 10",
        "top nightly --once",
    ],
)
@run_argument
@store_option
@click.option(
    "--interval",
    default=2.0,
    show_default=True,
    type=click.FloatRange(min=0.5),
    help="Seconds between updates.",
)
@click.option("--once", is_flag=True, help="Print one update and exit.")
def top(*, name: str, store_url: str | None, interval: float, once: bool) -> None:
    """Show the progress of RUN: tasks, workers, memory, warnings; then its card.

    It reads the recording, so it needs the store, not the cluster.
    """
    from rich.console import Console
    from rich.live import Live

    store = opened_store(store_url)
    run = opened_run(store, name)
    console = Console()
    snapshots = [run] if once else snapshots_of(store, run, interval)
    if not console.is_terminal:
        for run in snapshots:
            now = _now(run)
            click.echo(_line(run) + (f"; {plain(now.text)}" if now else ""))
            for label, line in _rows_of(now) if now and now.waits else ():
                click.echo(f"  {label}: {line}")
    else:
        with Live(console=console, auto_refresh=False) as live:
            for run in snapshots:
                live.update(_table(run), refresh=True)
    if run.state != "running":
        from dask_blackbox.report import text
        from dask_blackbox.serve.cards import card_of_run

        click.echo(text(card_of_run(run)))


def _now(run: Run) -> CurrentState | None:
    """Return what a run that continues is doing."""
    from dask_blackbox.analyse.current_state import current_state
    from dask_blackbox.guard import guard

    with guard("what a run in progress is doing"):
        if run.state == "running":
            return current_state(run, run.history)
    return None


def _rows_of(now: CurrentState) -> list[tuple[str, str]]:
    """Return what a run is doing, with labels."""
    from dask_blackbox.report.wording import rows_of_current_state

    return rows_of_current_state(now)


def _facts(run: Run) -> list[tuple[str, str]]:
    """Return the facts of a run, newest first."""
    from dask_blackbox.reader.documents import read_heartbeat

    beat = read_heartbeat(run.store, run.folder)
    now = beat.at if beat is not None else run.manifest.started
    lasted = beat.lasted if beat is not None else None
    lasted = max(0.0, now - run.manifest.started) if lasted is None else lasted
    facts = [("duration", duration(lasted))]
    progress = beat.progress if beat is not None else None
    if progress is None:
        return [*facts, ("tasks", count(run.tasks.height))]
    of = f" of {count(progress.total)}" if progress.total else ""
    limit = f" of {exact_size(progress.memory_limit)}" if progress.memory_limit else ""
    facts += [
        ("tasks", f"{count(progress.done)}{of}"),
        ("rate", f"{progress.rate:,.1f} a second"),
        ("workers", _workers(progress)),
        ("memory", exact_size(progress.memory) + limit),
    ]
    if progress.failed:
        facts.append(("failed", count(progress.failed)))
    if progress.lost_workers:
        facts.append(("workers lost", count(progress.lost_workers)))
    return facts


def _workers(progress: Progress) -> str:
    threads, busy = count(progress.threads), count(progress.executing)
    return f"{count(progress.workers)} with {threads} threads, {busy} busy"


def _named(run: Run) -> str:
    manifest = run.manifest
    return plain(f"{manifest.job}/{manifest.run_id}/{manifest.attempt}")


def _line(run: Run) -> str:
    message = ", ".join(f"{name} {value}" for name, value in _facts(run))
    return f"{_named(run)} {run.state}: {message}"


def _table(run: Run) -> Group:
    import polars as pl
    from rich.console import Group, RenderableType
    from rich.progress_bar import ProgressBar
    from rich.table import Table
    from rich.text import Text

    from dask_blackbox.reader.documents import read_heartbeat
    from dask_blackbox.report.log_lines import as_text

    facts = Table.grid(padding=(0, 2))
    for name, value in _facts(run):
        facts.add_row(Text(name, style="dim"), value)
    shown: list[RenderableType] = [Text(f"{_named(run)}  {run.state}", style="bold")]
    beat = read_heartbeat(run.store, run.folder)
    if beat is not None and beat.progress is not None and beat.progress.total:
        progress = beat.progress
        shown.append(ProgressBar(total=progress.total, completed=progress.done))
    shown.append(facts)
    now, doing = Table.grid(padding=(0, 2)), _now(run)
    for label, text in _rows_of(doing) if doing else ():
        now.add_row(Text(label, style="dim"), text)
    shown.append(now)
    grave = run.logs.filter(pl.col("level") >= _WARNING).sort("at").tail(_LINES)
    for row in grave.iter_rows(named=True):
        line = Text(as_text(row).splitlines()[0], no_wrap=True, overflow="ellipsis")
        line.stylize("yellow")
        shown.append(line)
    return Group(*shown)
