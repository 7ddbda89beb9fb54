"""The texts of the performance report: its summary and its logs, escaped."""

from __future__ import annotations

from typing import Any

import polars as pl
from markupsafe import Markup, escape

from dask_blackbox.analyse.state import seconds_of
from dask_blackbox.attach import RunCard
from dask_blackbox.events import DriverAttached, SchedulerInfo
from dask_blackbox.formatting import (
    clock,
    count,
    counted,
    duration,
    exact_size,
    moment,
    plain,
)
from dask_blackbox.report.axis import Axis
from dask_blackbox.report.card_words import STATE_SIGN
from dask_blackbox.report.workers import Life
from dask_blackbox.run import RunTables

__all__ = ["log_markup", "summary_markup"]

_MOST_LINES = 2_000
_LONGEST = 4_000
_WARNING = 30
_ERROR = 40


def summary_markup(
    run: RunTables,
    card: RunCard,
    axis: Axis,
    lives: list[Life],
    executions: pl.DataFrame,
) -> Markup:
    """Return the first tab: what ran, for how long, on what; and the verdict."""
    ended = run.ending.ended if run.ending else axis.stop
    took = seconds_of(run) if run.ending else ended - run.manifest.started
    parts = [
        Markup("<h1>Dask Performance Report</h1>"),
        Markup("<p><i>Select the tabs above for additional information</i></p>"),
        Markup("<h2>{} {}: {}</h2>").format(
            STATE_SIGN[card.state], card.state, plain(card.headline)
        ),
        Markup("<p>{} · {} · attempt {} · {}</p>").format(
            plain(card.job), plain(card.run_id), card.attempt, moment(axis.start)
        ),
        Markup("<h2>Duration: {}</h2>").format(duration(took)),
        Markup("<h2>Tasks Information</h2>"),
        _list(_tasks(executions)),
        Markup("<h2>Scheduler Information</h2>"),
        _list(_cluster(run, lives)),
        Markup("<h2>Calling Code</h2>"),
        _list(_calling(run)),
    ]
    return Markup("\n").join(parts)


def _tasks(tasks: pl.DataFrame) -> list[str]:
    outcomes = dict(tasks["outcome"].value_counts().iter_rows())
    said = [f"number of task executions: {count(tasks.height)}"]
    said += [
        f"{word}: {count(outcomes[word])}"
        for word in ("finished", "erred", "retried", "killed")
        if outcomes.get(word)
    ]
    for column in ("compute", "transfer", "disk", "deserialize"):
        total = float(tasks[column].sum() or 0)
        if total:
            said.append(f"{column} time: {duration(total)}")
    return said


def _cluster(run: RunTables, lives: list[Life]) -> list[str]:
    scheduler = next(iter(run.of(SchedulerInfo)[-1:]), SchedulerInfo())
    threads = sum(life.nthreads or 0 for life in lives if life.left is None)
    memory = sum(life.limit or 0 for life in lives if life.left is None)
    died = sum(life.fate == "died" for life in lives)
    return [
        f"Address: {plain(scheduler.subject or 'unknown')}",
        f"Workers seen: {count(len(lives))}"
        + (f", {count(died)} died" if died else ""),
        f"Threads at the end: {count(threads)}",
        f"Memory at the end: {exact_size(memory)}",
        f"Dask Version: {plain(scheduler.dask or 'unknown')}",
        f"Dask.Distributed Version: {plain(scheduler.distributed or 'unknown')}",
    ]


def _calling(run: RunTables) -> list[str]:
    # Further events are of clients that the driver connected.
    driver = next((each for each in run.of(DriverAttached) if each.argv), None)
    if driver is None:
        return ["not known"]
    called = driver.callable
    said = {
        "callable": called and f"{called.module}.{called.name}",
        "argv": " ".join(driver.argv),
        "cwd": driver.cwd,
    }
    return [f"{name}: {plain(value)}" for name, value in said.items() if value]


def _list(items: list[str]) -> Markup:
    rows = Markup("").join(Markup("<li>{}</li>").format(item) for item in items)
    return Markup("<ul>{}</ul>").format(rows)


def log_markup(logs: pl.DataFrame, roles: tuple[str, ...]) -> Markup:
    """Return the log lines of some roles: all, or the last of them and all errors."""
    own = logs.filter(pl.col("role").is_in(roles)).sort("at", maintain_order=True)
    if own.height == 0:
        return Markup("<p>No log line was recorded.</p>")
    said = counted(own.height, "log line")
    shown = own
    if own.height > _MOST_LINES:
        numbered = own.with_row_index("row")
        grave = numbered.filter(pl.col("level") >= _ERROR).tail(_MOST_LINES // 2)
        rest = numbered.tail(_MOST_LINES - grave.height)
        shown = pl.concat([grave, rest]).unique("row").sort("row")
        said = (
            f"showing {count(shown.height)} of {said}: the newest, and the last "
            f"{count(grave.height)} errors"
        )
    lines = Markup("\n").join(_line(row) for row in shown.iter_rows(named=True))
    return Markup("<p>{}</p><pre>{}</pre>").format(said, lines)


def _line(row: dict[str, Any]) -> Markup:
    at = clock(row["at"].timestamp()) if row["at"] else ""
    message = plain(row["message"] or "")
    if len(message) > _LONGEST:
        gone = len(message) - _LONGEST
        message = f"{message[:_LONGEST]} … {count(gone)} more characters"
    text = escape(
        f"{at}  {plain(row['source'] or '')}  {plain(row['logger'] or '')}  {message}"
    )
    level = row["level"] or 0
    if level >= _ERROR:
        return Markup('<b style="color:#b42318">{}</b>').format(text)
    if level >= _WARNING:
        return Markup('<span style="color:#8a5a00">{}</span>').format(text)
    return text
