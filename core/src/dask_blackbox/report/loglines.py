"""Which log lines stand in the report, when there are more than fit."""

from __future__ import annotations

from typing import Any, NamedTuple

import polars as pl

from dask_blackbox.commandline import command, run_words
from dask_blackbox.formatting import count, counted, plain
from dask_blackbox.report.workers import WorkerProcess
from dask_blackbox.run_tables import RunTables

_WARNING = 30
_LONGEST = 6_000
_BEFORE_A_DEATH = 40
_MOST_BYTES = 1_500_000


class LogLine(NamedTuple):
    """One line: `at` in epoch seconds, `level` numeric."""

    at: float
    role: str
    source: str
    logger: str
    level: int
    message: str
    key: str


class LogLines(NamedTuple):
    """The chosen lines by time, and the sentence that says how they were chosen."""

    lines: list[LogLine]
    summary: str
    total: int


def loglines_of(
    run: RunTables, processes: list[WorkerProcess], *, limit: int
) -> LogLines:
    """Choose at most `limit` lines: warnings and worse, last words, then the newest."""
    logs = run.logs
    total = logs.height
    if total == 0:
        return LogLines([], "No log line was recorded.", 0)
    if total <= limit:
        lines = _lines(logs)
        return _within_bytes(lines, f"All {counted(total, 'log line')}.", total)
    numbered = logs.with_row_index("row").sort("at", maintain_order=True)
    grave = numbered.filter(pl.col("level") >= _WARNING)["row"]
    chosen, text = _important_lines(grave, limit)
    last = _last_lines(numbered, processes)
    chosen.update(row for row in last if len(chosen) < limit)
    for row in reversed(numbered["row"].to_list()):
        if len(chosen) >= limit:
            break
        chosen.add(row)
    picked = numbered.filter(pl.col("row").is_in(list(chosen)))
    sentence = (
        f"Showing {count(picked.height)} of {counted(total, 'log line')}: {text}"
        f"{', the last lines of workers that died' if last else ''}, then the newest. "
        f"`{_searching(run)}` searches them all."
    )
    return _within_bytes(_lines(picked), sentence, total)


def _searching(run: RunTables) -> str:
    reported = run.manifest
    name = run_words(run.url, reported.job, reported.run_id, reported.attempt)
    return command("logs", name)


def _important_lines(grave: pl.Series, limit: int) -> tuple[set[int], str]:
    if grave.len() <= limit * 3 // 4:
        return set(grave.to_list()), "all failures and warnings"
    # The first ones say what went wrong, the last ones how it ended.
    head, tail = limit // 4, limit // 2
    chosen = {*grave.head(head).to_list(), *grave.tail(tail).to_list()}
    text = (
        f"the first {count(head)} and last {count(tail)} of "
        f"{count(grave.len())} failures and warnings"
    )
    return chosen, text


def _last_lines(numbered: pl.DataFrame, processes: list[WorkerProcess]) -> list[int]:
    rows: list[int] = []
    dead = [process.address for process in processes if process.fate == "died"]
    if dead:
        own = numbered.filter(pl.col("source").is_in(dead))
        for _, part in own.group_by("source", maintain_order=True):
            rows += part["row"].tail(_BEFORE_A_DEATH).to_list()
    return rows


def _lines(logs: pl.DataFrame) -> list[LogLine]:
    rows = logs.select(
        pl.col("at").dt.epoch("us") / 1e6,
        *(pl.col(name).fill_null("") for name in ("role", "source", "logger")),
        pl.col("level").fill_null(20),
        pl.col("message").fill_null(""),
        pl.col("key").fill_null(""),
    ).sort("at", maintain_order=True, nulls_last=True)
    return [_line(row) for row in rows.iter_rows()]


def _line(row: tuple[Any, ...]) -> LogLine:
    at, role, source, logger, level, message, key = row
    message = plain(message).rstrip()
    if len(message) > _LONGEST:
        half = _LONGEST // 2
        gone = len(message) - 2 * half
        message = (
            f"{message[:half]}\n… {count(gone)} more characters …\n{message[-half:]}"
        )
    return LogLine(at or 0.0, role, source, plain(logger), level, message, plain(key))


def _within_bytes(lines: list[LogLine], text: str, total: int) -> LogLines:
    """Leave out harmless lines, oldest first, while the whole is too big for a page."""
    excess = sum(len(line.message) for line in lines) - _MOST_BYTES
    kept: list[LogLine] = []
    left_out = 0
    for line in lines:
        if excess > 0 and line.level < _WARNING:
            excess -= len(line.message)
            left_out += 1
        else:
            kept.append(line)
    while excess > 0 and kept:
        excess -= len(kept.pop(len(kept) // 2).message)
        left_out += 1
    if left_out:
        text += f" {counted(left_out, 'more line')} left out because they are long."
    return LogLines(kept, text, total)
