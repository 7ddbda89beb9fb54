"""`dask blackbox history`: a job's runs, failures and trends."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial

import click
import msgspec
from rich.cells import cell_len
from rich.table import Table
from rich.text import Text

from dask_blackbox.cli.options import (
    Verb,
    jobs_beginning,
    opened_store,
    print_rendered,
    store_option,
)
from dask_blackbox.formatting import counted, day, duration, exact_size, moment, plain
from dask_blackbox.job_history import FailureGroup, JobHistory, PastRun, Trend
from dask_blackbox.report.text_card import printed
from dask_blackbox.report.wording import STATE_SIGN, lasting_text, measure

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

    patience = None if everything else FOR_NAMES
    history = job_history(opened_store(store_url), job, limit=limit, timeout=patience)
    if as_json:
        click.echo(msgspec.json.format(msgspec.json.encode(history), indent=2))
        return
    print_rendered(partial(history_text, history), piped=_PIPED)


_BARS = "▁▂▃▄▅▆▇█"
_COLOURS = {"succeeded": "green", "running": "cyan", "lost": "magenta", "stopped": ""}
_NOTABLE = 0.1
_MOST_BARS = 40
_RUN = 7  # which column their names are
_GAP = 2
_READABLE = 40  # columns in which an id of Airflow's takes two lines
_MINUTE = len("2026-11-21 05:00")


def history_text(history: JobHistory, *, width: int = 120, colour: bool = False) -> str:
    """Return a job's history as text.

    Args:
        colour: With terminal colours.
    """
    parts: list[Text | Table] = [_head(history), Text()]
    parts += _runs(history.runs, width=width, colour=colour)
    omitted = history.total - len(history.runs)
    if omitted > 0:
        more = "more than " if history.more else ""
        parts.append(
            Text(
                f"{more}{counted(omitted, 'older run')}: --limit shows more",
                style="dim",
            )
        )
    if history.groups:
        kinds = _groups(history.groups, more=history.more)
        parts += [Text(), Text("failures by kind", style="dim"), kinds]
    if history.trends:
        parts += [Text(), Text("good runs", style="dim"), _trends(history.trends)]
    return printed(parts, width=width, colour=colour)


def _head(history: JobHistory) -> Text:
    states = ", ".join(
        f"{number:,} {state}" for state, number in history.states.items()
    )
    text = Text(plain(history.job), style="bold")
    runs = counted(history.total, "run")
    if history.more:
        text.append(f"  the newest {runs}: {states}", style="not bold")
        text.append("  (there are more: --all reads all)", style="not bold dim")
    else:
        text.append(f"  {runs}: {states}", style="not bold")
    return text


def _runs(
    runs: Sequence[PastRun], *, width: int, colour: bool
) -> Iterator[Text | Table]:
    """Yield the runs: one line each, or two where their ids do not fit beside the rest."""
    names = [plain(run.run.partition("/")[2]) for run in runs]
    table = _folding(_table_of(runs, ()))
    taken = sum((column.min_width or 0) + _GAP for column in table.columns)
    if width - taken >= min(_READABLE, max(map(len, names), default=0)):
        yield _folding(_table_of(runs, names), _RUN)
        return
    head, *lines = printed([table], width=max(width, taken), colour=colour).split("\n")
    yield Text.from_ansi(head)
    for line, name in zip(lines, names, strict=True):
        yield Text.from_ansi(line)
        yield Text(f"  {name}")


def _table_of(runs: Sequence[PastRun], names: Sequence[str]) -> Table:
    """Return a row for each run, with their names, if there are any."""
    heads = ("STATE", "STARTED", "TOOK", "INPUT", "PEAK", "", "VERDICT")
    table = _table(*heads, *(("RUN",) if names else ()))
    for column in (2, 3, 4):
        table.columns[column].justify = "right"
    for place, run in enumerate(runs):
        word = "stopped" if run.stopped else run.state
        state = f"{STATE_SIGN.get(word, '?')} {word}"
        table.add_row(
            Text(state, style=_COLOURS.get(word, "red")),
            moment(run.started)[:_MINUTE],
            "" if run.duration is None else duration(run.duration),
            _input(run),
            "" if run.peak_memory is None else exact_size(run.peak_memory),
            Text(run.group or "", style="bold"),
            plain(run.verdict or ""),
            *names[place : place + 1],
        )
    return table


def _input(run: PastRun) -> str:
    if run.input_bytes is not None:
        return exact_size(run.input_bytes)
    return "" if run.partitions is None else counted(run.partitions, "part")


def _groups(groups: Sequence[FailureGroup], *, more: bool) -> Table:
    table = _table("", "TIMES", "FIRST", "LAST", "SINCE THEN", "WHAT")
    table.columns[1].justify = "right"
    for group in groups:
        table.add_row(
            Text(group.letter, style="bold"),
            f"{group.times:,}",
            f"{day(group.first)} or before" if more else day(group.first),
            day(group.last),
            _since(group),
            plain(group.title or group.verdict or group.fingerprint),
        )
    return _folding(table, 4, 5)


def _since(group: FailureGroup) -> str:
    if group.stopped is None:
        return "ongoing" if group.since == 0 else counted(group.since, "run")
    runs = f"stopped, {counted(group.since, 'run')} ago"
    return f"{runs}, with {plain(group.stopped)}" if group.stopped else runs


def _trends(trends: Sequence[Trend]) -> Table:
    table = _table("", "", "", "")
    for trend in trends:
        table.add_row(
            trend.name.replace("_", " "),
            _curve(trend.values),
            measure(trend.name, trend.now),
            _growth(trend),
        )
    return _folding(table, 3)


def _growth(trend: Trend) -> str:
    if (change := trend.change) is not None:
        return lasting_text(trend.name, change)
    if not trend.before:
        return ""
    by = trend.now / trend.before - 1
    if abs(by) < _NOTABLE:
        return "as before"
    return f"{by:+.0%} compared with earlier runs"


def _curve(values: Sequence[float]) -> str:
    """Return values as bars, from nothing to the largest."""
    largest = max(values, default=0) or 1
    places = (round((len(_BARS) - 1) * each / largest) for each in values[-_MOST_BARS:])
    return "".join(_BARS[place] for place in places)


def _folding(table: Table, *places: int) -> Table:
    """Let some columns wrap in a narrow terminal, and keep the others from being cut."""
    for place, column in enumerate(table.columns):
        if place in places:
            column.no_wrap, column.overflow = False, "fold"
        else:
            cells = [str(column.header), *(str(cell) for cell in column.cells)]
            column.min_width = max(cell_len(cell) for cell in cells)
    return table


def _table(*heads: str) -> Table:
    table = Table(box=None, pad_edge=False, header_style="dim", padding=(0, 2, 0, 0))
    table.show_header = any(heads)
    for head in heads:
        table.add_column(head, no_wrap=True)
    return table
